"""
What Gatepost can be asked from outside: each request is declared once, with its answer, its access rule and its route.

    operation    what a request is, and the table of all of them
    access       who may ask, as data
    decoding     a request from a path, a query and a body
    validation   what is wrong with a value, in one sentence
    problems     an error as an RFC 9457 problem
    stream_events  the events of streams, and the models of their data
    openapi      the description of all operations, as OpenAPI and as a page
    fields       types of fields, and how an answer is copied from a record

The other modules have the requests of one noun or a few, and the models of its answers beside them. `handlers` has what
an operation does.
"""
