/// How much a peer's data channels deliver. Messages that come faster wait in the receive window, which closes: a
/// sender that obeys SCTP's flow control slows down and loses nothing; chunks of one that does not are refused. Each
/// message may be relayed to a whole room, so one fast sender is work for everybody.
public struct DataChannelBudget: Hashable, Sendable {
    /// Cursors, chat, remote control and a file in parts of 16 KiB stay below it.
    public var messagesPerSecond = 100.0
    /// The largest burst, such as what an application sends when it starts.
    public var messageBurst = 500.0
    /// Bytes of messages per second.
    public var bytesPerSecond = 1_048_576.0
    /// Twice an image of 8 MiB.
    public var byteBurst = 16_777_216.0

    /// The default budget.
    public init() {}
}

/// What the data channels of a peer refused, dropped or delayed.
public struct DataChannelStatistics: Hashable, Sendable {
    /// Messages to the peer that were refused because 1 MiB is queued already, or because the association has ended.
    public var refusedMessages = 0
    /// Chunks of the peer beyond the receive window, which it must send again.
    public var refusedChunks = 0
    /// Chunks and messages of the peer that could never be completed.
    public var discardedChunks = 0
    /// How often the peer's messages had to wait for its budget.
    public var slowed = 0
    /// Bytes received from the peer and held, plus 256 for each chunk and message.
    public var heldBytes = 0
    /// Bytes to the peer that wait to be sent or acknowledged, plus 256 for each message.
    public var backlog = 0

    /// Makes counters; 0 unless given.
    public init(
        refusedMessages: Int = 0, refusedChunks: Int = 0, discardedChunks: Int = 0, slowed: Int = 0, heldBytes: Int = 0,
        backlog: Int = 0
    ) {
        self.refusedMessages = refusedMessages
        self.refusedChunks = refusedChunks
        self.discardedChunks = discardedChunks
        self.slowed = slowed
        self.heldBytes = heldBytes
        self.backlog = backlog
    }
}
