"""What processes say to each other, and how it travels. The schema is shared/wire.cddl.

    messages.py      the vocabulary: what an envelope may be
    messages_law.py  which message an item is
    envelope.py      a frame's item to its message, and back
    codec.py         items to bytes and back; the one file that knows cbor2
    frames.py        items in a stream: lengths, pieces, limits; pure
    network.py       what the rooms see of sockets: Channel, Listener, Network, as protocols
    channel.py       frames over a stream socket
    descriptors.py   descriptors over a SEQPACKET socket
    sockets.py       the real Network
    clients.py       one client as a server has it: bounded, however slowly it reads
    slow_law.py      what is kept for a client, and how many commands are under way

A process without an event loop needs codec.py and frames.py only, and a blocking socket.
"""
