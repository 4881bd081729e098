"""
The models. `factory` opens the model that a configuration names, `messages` converts conversations to and from the
messages of pydantic-ai, and `provider` sends requests and classifies failures. `demo` needs none of these.
"""
