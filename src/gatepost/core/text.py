"""Text from outside that is to be stored."""

from gatepost.errors import Invalid


def storable(what: str, given: str) -> str:
    """Return the text if both databases can store it."""
    if "\x00" in given:
        raise Invalid(f"the {what} has a NUL character in it", hint="remove it")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the {what} is not valid Unicode: it has half of a surrogate pair in it") from None
    return given


def cut(given: str, most: int) -> str:
    """The text, or as much of it as there is room for and how much there was."""
    return given if len(given) <= most else f"{given[:most]} ... (cut, {len(given)} characters in all)"
