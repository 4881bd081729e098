"""
The models. `choose` opens the one that a configuration names, `talk` turns conversations into what pydantic-ai knows
and back, `provider` asks, and `blame` says what a failure is. `demo` needs none of that; `reading` is how it reads.
"""
