package org.yarnspec.fingerprint;

import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.Partitioner;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import org.yarnspec.spark.Fields;
import scala.Enumeration;
import scala.Option;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/**
 * Puts what a stage computes with into a fingerprint: plans, expressions, functions and the values in them.
 *
 * <p>Nothing is skipped because it is not known; an object of an unknown kind is {@link Unknown}. What differs from JVM to
 * JVM without a meaning (the numbers of columns) is replaced by the order of appearance.
 */
public final class Values {
    private static final String SPARK = "org.apache.spark.";
    private static final String SCALA = "scala.";
    /** Options by which a format, or an expression that parses, reads another file. */
    private static final List<String> FILES_OF_OPTIONS = List.of("avroSchemaUrl", "rowValidationXSDPath");

    private static final List<String> DRAWING = List.of("KllSketchAgg", "KllMergeAgg", "KllSketchMerge");

    private final Fingerprint into;
    private final PlanNodes plans;
    private final RddGraph rdds;
    private final Map<ExprId, Integer> columns;
    private boolean deterministic = true;
    private boolean repeats = true;
    private boolean functions;
    private boolean accumulates;

    public Values(Fingerprint into, ShuffleIdentities shuffles, HadoopInputs inputs) {
        this.into = into;
        this.plans = new PlanNodes(this, shuffles);
        this.rdds = new RddGraph(this, shuffles, inputs);
        this.columns = new HashMap<>();
    }

    private Values(Fingerprint into, Values like) {
        this.into = into;
        this.plans = new PlanNodes(this, like.plans.shuffles());
        this.rdds = like.rdds;
        this.columns = like.columns;
    }

    public Fingerprint into() {
        return into;
    }

    public RddGraph rdds() {
        return rdds;
    }

    /** Whether every expression so far gives the same value for the same row each time. */
    public boolean deterministic() {
        return deterministic;
    }

    /** Whether all that Spark takes for the same each time, beside functions, is the same so far, and in the same order. */
    public boolean repeats() {
        return repeats;
    }

    /** A broadcast table may have its rows in another order in another driver, and what is joined with it as well. */
    void joinedInAnyOrder() {
        repeats = false;
    }

    /** Notes that a part of a file was left out because it cannot be read: another run may read more of it, or less. */
    void readInPart() {
        repeats = false;
    }

    /** Whether functions of the program's run so far: what they give for the same row Spark does not know. */
    public boolean runsFunctions() {
        return functions;
    }

    /** Such a class has a say in what is read. */
    void readBy(Class<?> format) {
        functions |= !format.getName().startsWith("org.apache.");
    }

    /** Whether one of the program's functions so far adds to an accumulator, or rows are observed. */
    public boolean accumulates() {
        return accumulates || !observers().isEmpty();
    }

    /** The accumulators of each {@code observe} so far, in the order of the plan. */
    public List<Long> observers() {
        return plans.observers();
    }

    public void add(Object value) {
        if (value == null) {
            into.addNone();
        } else if (value instanceof String text) {
            into.add(text);
        } else if (value instanceof Number
                || value instanceof Boolean
                || value instanceof Character
                || value instanceof Enumeration.Value
                || value instanceof Enum<?>) {
            // Doubles too: their text tells every value from every other, but for the kinds of NaN.
            into.add(value.getClass().getName()).add(value.toString());
        } else if (value instanceof byte[] bytes) {
            into.add(bytes);
        } else if (value.getClass().isArray()) {
            addArray(value);
        } else if (value instanceof Class<?> type) {
            into.add(type.getName());
        } else if (value instanceof ClassTag<?> tag) {
            into.add(tag.runtimeClass().getName());
        } else if (!addSql(value) && !addCollection(value) && !addFunction(value)) {
            throw Unknown.kind("a value", value);
        }
    }

    private void addArray(Object array) {
        into.add(array.getClass().getName()).add(Array.getLength(array));
        for (int i = 0; i < Array.getLength(array); i++) {
            add(Array.get(array, i));
        }
    }

    private boolean addSql(Object value) {
        if (value instanceof ExprId id) {
            into.add("column").add(columns.computeIfAbsent(id, each -> columns.size()));
        } else if (value instanceof ObjectType type) {
            into.add("object").add(type.cls().getName());
        } else if (value instanceof DataType type) {
            into.add(type.json());
        } else if (value instanceof Metadata metadata) {
            into.add(metadata.json());
        } else if (value instanceof UTF8String text) {
            into.add(text.getBytes());
        } else if (value instanceof Decimal decimal) {
            into.add(decimal.toString()).add(decimal.precision()).add(decimal.scale());
        } else if (value instanceof UnsafeRow row) {
            into.add("row").add(row.getBytes());
        } else if (value instanceof GenericInternalRow row) {
            into.add("row");
            addArray(row.values());
        } else if (value instanceof InternalRow row && row.numFields() == 0) {
            into.add("no row");
        } else if (value instanceof GenericArrayData array) {
            addArray(array.array());
        } else if (value instanceof UnsafeArrayData array) {
            into.add("array").add(bytesOf(array));
        } else if (value instanceof MapData map) {
            into.add("map");
            add(map.keyArray());
            add(map.valueArray());
        } else if (value instanceof PythonFunction function) {
            functions = true;
            accumulates |= PythonFunctions.add(into, function);
        } else if (value instanceof SQLMetric) {
            into.add("metric"); // what is counted changes nothing of what is computed
        } else if (value instanceof RDD<?> rdd) {
            rdds.add(rdd, true);
        } else if (value instanceof Partitioner partitioner) {
            Partitioners.add(this, partitioner);
        } else if (value instanceof SparkPlan plan) {
            plans.add(plan);
        } else if (value instanceof TreeNode<?> node) {
            addNode(node);
        } else {
            return plans.addPart(value);
        }
        return true;
    }

    private static byte[] bytesOf(UnsafeArrayData array) {
        byte[] bytes = new byte[array.getSizeInBytes()];
        Platform.copyMemory(
                array.getBaseObject(), array.getBaseOffset(), bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
        return bytes;
    }

    /** An expression or a logical plan: all that its constructor was given. */
    void addNode(TreeNode<?> node) {
        if (node instanceof Expression expression && !expression.deterministic()) {
            deterministic = false;
        }
        functions |= node instanceof UserDefinedExpression || isScript(node);
        repeats &= !drawsWithoutSayingSo(node);
        if (!plans.addExpression(node)) {
            addProduct((Product) node);
            into.add("and");
            add(node.otherCopyArgs());
        }
    }

    /**
     * Draws lots, and counts for Spark as what gives the same each time: {@code aes_encrypt} begins with random bytes, and
     * KLL sketches throw away every other value by lot.
     */
    private static boolean drawsWithoutSayingSo(TreeNode<?> node) {
        return node instanceof StaticInvoke call && call.functionName().equals("aesEncrypt")
                || DRAWING.stream().anyMatch(node.getClass().getSimpleName()::startsWith);
    }

    /** {@code TRANSFORM … USING}, planned or about to be: a program of the user's sees each row. */
    private static boolean isScript(TreeNode<?> node) {
        return node.getClass().getSimpleName().contains("ScriptTransformation");
    }

    /** Adds the query whose rows a write stores. */
    public void addQuery(LogicalPlan query) {
        plans.addQuery(query);
    }

    /** The exchange at which a stage ends. */
    public void addOwner(SparkPlan exchange) {
        plans.addOwner(exchange);
    }

    void addProduct(Product product) {
        String name = product.getClass().getName();
        if (!name.startsWith(SPARK) && !name.startsWith(SCALA)) {
            throw Unknown.kind("a value", product);
        }
        into.add(name).add(product.productArity());
        for (int i = 0; i < product.productArity(); i++) {
            add(product.productElement(i));
        }
    }

    private boolean addCollection(Object value) {
        if (value instanceof Option<?> option) {
            into.add("option").add(option.isDefined() ? 1 : 0);
            if (option.isDefined()) {
                add(option.get());
            }
        } else if (value instanceof scala.collection.Seq<?> seq) {
            addAll(CollectionConverters.asJava(seq));
        } else if (value instanceof scala.collection.Map<?, ?> map) {
            addMap(CollectionConverters.asJava(map));
        } else if (value instanceof scala.collection.Set<?> set) {
            addSet(CollectionConverters.asJava(set));
        } else if (value instanceof List<?> list) {
            addAll(list);
        } else if (value instanceof Map<?, ?> map) {
            addMap(map);
        } else if (value instanceof Product product) {
            addProduct(product);
        } else {
            return false;
        }
        return true;
    }

    private void addAll(List<?> list) {
        into.add("list").add(list.size());
        for (Object each : list) {
            add(each);
        }
    }

    private void addMap(Map<?, ?> map) {
        List<byte[]> entries = new ArrayList<>();
        map.forEach((key, value) -> {
            if (key instanceof String name && FILES_OF_OPTIONS.stream().anyMatch(name::equalsIgnoreCase)) {
                throw new Unknown("its rows go by the file of the option " + name);
            }
            entries.add(apart(key, value));
        });
        into.add("map").addUnordered(entries);
    }

    private void addSet(java.util.Set<?> set) {
        List<byte[]> elements = new ArrayList<>();
        set.forEach(each -> elements.add(apart(each)));
        into.add("set").addUnordered(elements);
    }

    private byte[] apart(Object... values) {
        Values own = new Values(new Fingerprint(), this);
        for (Object each : values) {
            own.add(each);
        }
        if (!own.observers().isEmpty()) {
            throw new Unknown("observe() is counted where there is no order");
        }
        deterministic &= own.deterministic;
        repeats &= own.repeats;
        functions |= own.functions;
        accumulates |= own.accumulates;
        return own.into.bytes();
    }

    private boolean addFunction(Object value) {
        String name = value.getClass().getName();
        if (isModule(value.getClass()) && (name.startsWith(SPARK) || name.startsWith(SCALA))) {
            into.add(name); // an object of Scala's: there is only one, and its code is Spark's
            return true;
        }
        SerializedLambda lambda = Fields.lambda(value);
        if (lambda == null) {
            return false;
        }
        String host = lambda.getImplClass().replace('/', '.');
        if (!host.startsWith(SPARK) && !host.startsWith(SCALA)) {
            throw new Unknown("a function written in " + host + " is not known");
        }
        into.add("function").add(host).add(lambda.getImplMethodName()).add(lambda.getImplMethodSignature());
        into.add(lambda.getCapturedArgCount());
        for (int i = 0; i < lambda.getCapturedArgCount(); i++) {
            add(lambda.getCapturedArg(i));
        }
        return true;
    }

    private static boolean isModule(Class<?> type) {
        try {
            return type.getName().endsWith("$")
                    && java.lang.reflect.Modifier.isStatic(
                            type.getField("MODULE$").getModifiers());
        } catch (NoSuchFieldException e) {
            return false;
        }
    }
}
