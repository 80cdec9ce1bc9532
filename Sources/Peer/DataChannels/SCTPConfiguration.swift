import Basics

/// What the association tells its owner.
enum SCTPEvent: Equatable {
    case established
    case message(stream: UInt16, ppid: UInt32, payload: [UInt8])
    /// The peer starts these streams anew; none named means all.
    case incomingReset([UInt16])
    /// The peer has accepted that we start these streams anew.
    case outgoingReset([UInt16])
    case closed
    case failed(String)
}

/// How a message is sent.
struct SCTPReliability: Equatable {
    var unordered = false
    /// Retransmissions of a chunk before its message is given up; nil for no end.
    var retransmissions: Int?
    /// Time before a message is given up; nil for no end.
    var lifetime: Duration?
}

struct SCTPConfiguration {
    /// Streams that one RE-CONFIG or FORWARD-TSN names: as many as there are channels, and they fit into a packet.
    static let mostNamedStreams = 256

    var localPort: UInt16 = 5000
    var remotePort: UInt16 = 5000
    /// The largest SCTP packet: what DTLS takes, rounded down to four bytes.
    var packetSize = 1132
    var streams: UInt16 = 1024
    /// The largest message taken; a longer one ends the association.
    var maximumMessage = 262_144
    /// Bytes received and not yet delivered, each chunk and message with what it costs to hold it.
    var receiveWindow = 1 << 20
    /// Bytes sent and not yet acknowledged or even sent, each message with what it costs to hold it.
    var sendBuffer = 1 << 20
    /// What is delivered in a second and at once.
    var budget = DataChannelBudget()
}

/// What an association counted.
struct SCTPStatistics: Equatable {
    /// DATA chunks that were not taken: the window was full, or too much was missing before them.
    var refusedChunks = 0
    /// Chunks and messages that were dropped because nothing could have come of them.
    var discardedChunks = 0
    /// How often messages had to wait for the budget.
    var slowed = 0
    /// Messages that were not taken for sending: the buffer was full, or the association over.
    var refusedMessages = 0
}
