"""Takes IDs from the Thrift service of Twitter's Snowflake server until it is killed, and prints them.

usage: snowflake_client.py HOST PORT framed|unframed [USER_AGENT]

The structures are those that the Thrift compiler makes of Snowflake.thrift, by hand. A client that loses its connection
makes another, as those of Twitter's server do. The first line has the worker, the datacenter and the timestamp.
"""

import sys
import time

from thrift.protocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport import TSocket, TTransport

host, port, framing = sys.argv[1:4]
agent = sys.argv[4] if len(sys.argv) > 4 else "test-client"


class Client:
    def __init__(self):
        socket = TSocket.TSocket(host, int(port))
        socket.setTimeout(5000)
        kind = TTransport.TFramedTransport if framing == "framed" else TTransport.TBufferedTransport
        self.transport = kind(socket)
        self.protocol = TBinaryProtocol.TBinaryProtocol(self.transport)
        self.transport.open()

    def call(self, method, useragent=None):
        p = self.protocol
        p.writeMessageBegin(method, TMessageType.CALL, 0)
        p.writeStructBegin(method + "_args")
        if useragent is not None:
            p.writeFieldBegin("useragent", TType.STRING, 1)
            p.writeString(useragent)
            p.writeFieldEnd()
        p.writeFieldStop()
        p.writeStructEnd()
        p.writeMessageEnd()
        p.trans.flush()
        _, kind, _ = p.readMessageBegin()
        if kind == TMessageType.EXCEPTION:
            failure = TApplicationException()
            failure.read(p)
            p.readMessageEnd()
            raise failure
        p.readStructBegin()
        value = None
        while True:
            _, field, number = p.readFieldBegin()
            if field == TType.STOP:
                break
            if number == 0 and field == TType.I64:
                value = p.readI64()
            else:
                p.skip(field)
            p.readFieldEnd()
        p.readStructEnd()
        p.readMessageEnd()
        return value


client = None
described = False
while True:
    try:
        if client is None:
            client = Client()
        if not described:
            described = True
            print(*(client.call("get_" + what) for what in ("worker_id", "datacenter_id", "timestamp")), flush=True)
        print(client.call("get_id", agent), flush=True)
    except TApplicationException as failure:
        print(failure.message, flush=True)
        time.sleep(0.05)
    except (TTransport.TTransportException, EOFError, OSError):
        client = None
        time.sleep(0.05)
