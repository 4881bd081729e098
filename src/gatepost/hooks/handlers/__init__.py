"""The handlers that Gatepost brings along, one a module, imported only for the events they are asked on."""
