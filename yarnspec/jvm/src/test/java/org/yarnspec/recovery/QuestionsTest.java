package org.yarnspec.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** How long a driver waits for a negotiator that does not answer. */
class QuestionsTest {
    private final AtomicInteger told = new AtomicInteger();
    private final Questions questions = new Questions(told::incrementAndGet);

    @Test
    void anAnswerIsTheQuestions() throws Exception {
        int first = questions.ask();
        int second = questions.ask();
        questions.answer(second, new ObjectMapper().readTree("{\"shuffle\": 7, \"restore\": true}"));
        questions.answer(first, new ObjectMapper().readTree("{\"shuffle\": null, \"record\": true}"));
        assertEquals(new Questions.Answer(null, false, true, false), questions.await(first, 30_000));
        assertEquals(new Questions.Answer(7, true, false, false), questions.await(second, 30_000));
        assertFalse(questions.givenUp());
        assertEquals(0, told.get());
    }

    @Test
    void afterOneAnswerThatDidNotComeNobodyWaitsAgain() throws Exception {
        int first = questions.ask();
        assertSame(Questions.Answer.NONE, questions.await(first, 1));
        assertTrue(questions.givenUp());
        int second = questions.ask();
        assertSame(Questions.Answer.NONE, questions.await(second, Long.MAX_VALUE));
        assertEquals(1, told.get());
        questions.answer(first, new ObjectMapper().readTree("{\"record\": true}")); // too late: nobody minds
    }
}
