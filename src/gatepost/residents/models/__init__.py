"""
The models, behind the port in `residents/model_port.py`. `factory` opens the model that a configuration names: start
there. `pydantic_ai_model` sends requests and says what a failure means, `messages` converts conversations to and from
the messages of pydantic-ai. `demo` needs no key and no library. They import records of residents, and their libraries.
"""
