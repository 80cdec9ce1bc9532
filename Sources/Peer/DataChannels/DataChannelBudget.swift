/// How much a peer's data channels deliver. What comes faster waits in the receive window, which closes: a sender that
/// keeps to SCTP slows down and loses nothing, one that does not is refused. Each message may be relayed to a whole
/// room, so one peer's hurry is everybody's work.
public struct DataChannelBudget: Hashable, Sendable {
    /// Cursors, chat, remote control and the parts of a file of 16 KiB stay below it.
    public var messagesPerSecond = 100.0
    /// What may come at once, such as what an application says when it starts.
    public var messageBurst = 500.0
    /// Bytes of messages a second.
    public var bytesPerSecond = 1_048_576.0
    /// Twice a picture of 8 MiB.
    public var byteBurst = 16_777_216.0

    /// The usual budget.
    public init() {}
}

/// What the data channels of a peer refused, dropped or held up.
public struct DataChannelStatistics: Hashable, Sendable {
    /// Messages to the peer that were not taken because 1 MiB of them waits already, or no channel works any more.
    public var refusedMessages = 0
    /// Chunks of the peer's over the receive window, which it must send again.
    public var refusedChunks = 0
    /// Chunks and messages of the peer's that could never have become anything.
    public var discardedChunks = 0
    /// How often the peer's messages had to wait for its budget.
    public var slowed = 0
    /// Bytes of the peer's that are held, with 256 for each chunk and message.
    public var heldBytes = 0
    /// Bytes to the peer that wait to be sent or acknowledged, with 256 for each message.
    public var backlog = 0

    /// All counters; 0 unless given.
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
