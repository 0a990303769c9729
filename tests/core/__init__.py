"""Tests of the core: no JVM, no network, no clock."""
