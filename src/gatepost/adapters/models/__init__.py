"""
The models. `factory` opens the model that a configuration names, `messages` converts conversations to and from the
messages of pydantic-ai, `provider` sends requests, and `errors` classifies failures. `demo` needs none of these;
`demo_parser` reads the prompt for it.
"""
