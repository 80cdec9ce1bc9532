package import NIOCore

/// The messages that wait to be written to one client. A slow client gets fewer messages instead of late ones: of each
/// kind of state only the newest waits.
package struct Outbox {
    /// A kind of state that messages carry, named by their sender.
    package struct State: Hashable, Sendable {
        package let name: String

        package init(name: String) {
            self.name = name
        }
    }

    package enum Message: Equatable {
        /// Shared by all receivers of the same text.
        case text(ByteBuffer)
        case binary(ByteBuffer)
        case ping
        case pong(ByteBuffer)
        /// Tells the node at the other end about the connection: a ping with these words.
        case notice(SocketNotice)
        case close(UInt16, String)

        package var bytes: Int {
            switch self {
            case .text(let data), .binary(let data): data.readableBytes
            case .ping, .notice: 0
            case .pong(let data): data.readableBytes
            case .close(_, let reason): reason.utf8.count
            }
        }
    }

    /// The most waiting messages. Chat of a room of 50 people who all write at once needs fewer.
    static let maxMessages = 512
    /// The most waiting bytes: the state of a room of 200, an answer and hundreds of chat messages.
    package static let maxBytes = 1 << 20

    private let maxBytes: Int

    /// - Parameter maxBytes: the most waiting bytes.
    package init(maxBytes: Int = Outbox.maxBytes) { self.maxBytes = maxBytes }

    /// nil where a newer state has replaced the message.
    private var messages: [Message?] = []
    private var first = 0
    private var places: [State: Int] = [:]
    package private(set) var count = 0
    package private(set) var bytes = 0

    /// Whether a close message has been added, behind which no more may follow.
    package private(set) var isClosed = false

    /// Whether enough waits that whoever passes on another connection's messages should wait too: the rest stays with
    /// that connection's sender, which sends less then.
    package var isOverHighWater: Bool { count >= 32 || bytes >= 65_536 }

    /// Adds a message at the end. Returns false if too much waits already, which should end the connection.
    ///
    /// - Parameters:
    ///   - state: the message's kind of state; it replaces a waiting message of the same kind.
    ///   - fullState: the message to add instead when one is replaced, where `message` has only the changes since that
    ///       one.
    package mutating func add(_ message: Message, _ state: State? = nil, fullState: (() -> Message)? = nil) -> Bool {
        if isClosed { return true }
        var message = message
        if let state, let place = places[state], place >= first, let older = messages[place] {
            if let fullState { message = fullState() }
            messages[place] = nil
            count -= 1
            bytes -= older.bytes
        }
        guard count < Outbox.maxMessages, bytes + message.bytes <= maxBytes else { return false }
        if messages.count > 64, messages.count > 2 * count { compact() }
        if let state { places[state] = messages.count }
        messages.append(message)
        count += 1
        bytes += message.bytes
        if case .close = message { isClosed = true }
        return true
    }

    /// Forgets the places of messages that were sent or replaced, so that a slow reader whose queue never empties keeps
    /// no more of them than of messages that wait.
    private mutating func compact() {
        var kept: [Message?] = []
        var moved: [Int: Int] = [:]
        for (place, message) in messages.enumerated().dropFirst(first) where message != nil {
            moved[place] = kept.count
            kept.append(message)
        }
        places = places.compactMapValues { moved[$0] }
        (messages, first) = (kept, 0)
    }

    /// The places of waiting messages, and of those that were replaced.
    package var slots: Int { messages.count }

    /// Removes and returns the oldest message.
    package mutating func next() -> Message? {
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
