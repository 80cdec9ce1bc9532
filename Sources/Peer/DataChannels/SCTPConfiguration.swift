import Basics

/// What the association reports to its owner.
enum SCTPEvent: Equatable {
    case established
    case message(stream: UInt16, ppid: UInt32, payload: [UInt8])
    /// The peer resets these streams; an empty list means all.
    case incomingReset([UInt16])
    /// The peer has accepted that we reset these streams.
    case outgoingReset([UInt16])
    case closed
    case failed(String)
}

/// How a message is sent.
struct SCTPReliability: Equatable {
    var unordered = false
    /// The retransmissions of a chunk after which its message is abandoned; nil: no limit.
    var retransmissions: Int?
    /// The time after which a message is abandoned; nil: no limit.
    var lifetime: Duration?
}

struct SCTPConfiguration {
    /// The most streams that one RE-CONFIG or FORWARD-TSN names: as many as there are channels; they fit into a packet.
    static let mostNamedStreams = 256

    var localPort: UInt16 = 5000
    var remotePort: UInt16 = 5000
    /// The largest SCTP packet: what DTLS accepts, rounded down to four bytes.
    var packetSize = 1132
    var streams: UInt16 = 1024
    /// The largest message accepted; a longer one ends the association.
    var maximumMessage = 262_144
    /// Bytes received and not yet delivered, with the overhead of each chunk and message.
    var receiveWindow = 1 << 20
    /// Bytes queued or sent and not yet acknowledged, with the overhead of each message.
    var sendBuffer = 1 << 20
    /// The rate and the burst of delivery.
    var budget = DataChannelBudget()
}

/// The counters of an association.
struct SCTPStatistics: Equatable {
    /// DATA chunks that were refused: the window was full, or too many were missing before them.
    var refusedChunks = 0
    /// Chunks and messages that were dropped because they could never be completed.
    var discardedChunks = 0
    /// How often messages had to wait for the budget.
    var slowed = 0
    /// Messages that were refused for sending: the buffer was full, or the association had ended.
    var refusedMessages = 0
}
