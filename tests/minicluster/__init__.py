"""The mini cluster without a JVM: its files, its processes, its refusals."""
