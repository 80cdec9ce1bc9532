import NIOCore

/// What waits to be written to one client. A client that reads slowly gets less, not later: of each kind of state only
/// the newest waits.
struct Outbox {
    /// A kind of state that messages carry, by the name that whoever sends them gives it.
    struct State: Hashable, Sendable {
        let name: String
    }

    enum Message: Equatable {
        /// Shared by all who are told the same.
        case text(ByteBuffer)
        case ping
        case pong(ByteBuffer)
        case close(UInt16, String)

        var bytes: Int {
            switch self {
            case .text(let text): text.readableBytes
            case .ping: 0
            case .pong(let data): data.readableBytes
            case .close(_, let reason): reason.utf8.count
            }
        }
    }

    /// Messages that wait at most. Chats in a room of 50 who all write at once are fewer.
    static let maxMessages = 512
    /// Bytes that wait at most: the state of a room of 200, an answer and hundreds of chats.
    static let maxBytes = 1 << 20

    /// nil where a newer state has taken the place of an older one.
    private var messages: [Message?] = []
    private var first = 0
    private var places: [State: Int] = [:]
    private(set) var count = 0
    private(set) var bytes = 0

    /// Whether nothing more may be added: the last message says goodbye.
    private(set) var isClosed = false

    /// Puts a message at the end. False if too much waits already: then the client is as good as gone.
    ///
    /// - Parameters:
    ///   - state: takes the place of a message of the same kind that still waits.
    ///   - whole: what to say instead in that place, where `message` tells only what changed since the one before it.
    mutating func add(_ message: Message, _ state: State? = nil, whole: (() -> Message)? = nil) -> Bool {
        if isClosed { return true }
        var message = message
        if let state, let place = places[state], place >= first, let older = messages[place] {
            if let whole { message = whole() }
            messages[place] = nil
            count -= 1
            bytes -= older.bytes
        }
        guard count < Outbox.maxMessages, bytes + message.bytes <= Outbox.maxBytes else { return false }
        if let state { places[state] = messages.count }
        messages.append(message)
        count += 1
        bytes += message.bytes
        if case .close = message { isClosed = true }
        return true
    }

    /// Takes the oldest message.
    mutating func next() -> Message? {
        while first < messages.count {
            let message = messages[first]
            first += 1
            guard let message else { continue }
            count -= 1
            bytes -= message.bytes
            return message
        }
        messages.removeAll(keepingCapacity: messages.count <= 64)
        places.removeAll(keepingCapacity: true)
        first = 0
        return nil
    }
}
