"""Fuzz suite: every input is read right, or refused in a typed error whose message is a sentence.

    make fuzz                                20,000 inputs on all cores
    python -m tests.fuzz --inputs 2000       fewer
    python -m tests.fuzz --only 1234         one input again, by its seed; if it fails, Hypothesis
                                             looks for the smallest input that fails alike

An input is a function of its seed alone. A result is one of

    right    the values are those that were written, as an independent reading of the file has them
    refused  InputError, ReportError or StoreError, in plain words
    wrong    other values than were written, or a plain file refused
    raw      another exception, a library's warning, or a message that is not a sentence
    hang     no answer within ten seconds, or the process died
"""
