/// The latest public messages of a room, for those who join late.
struct ChatHistory: Sendable {
    /// The most messages …
    static let limit = 100
    /// … and their bytes: names, texts and 128 for each message.
    static let byteLimit = 64 << 10

    /// The oldest first.
    private(set) var messages: [ChatMessage] = []
    private var bytes = 0

    mutating func add(_ message: ChatMessage) {
        messages.append(message)
        bytes += Self.size(of: message)
        var gone = 0
        while messages.count - gone > Self.limit || bytes > Self.byteLimit {
            bytes -= Self.size(of: messages[gone])
            gone += 1
        }
        messages.removeFirst(gone)
    }

    /// The messages that those of a breakout group may read.
    func messages(in group: Int) -> [ChatMessage] { messages.filter { $0.group == group || $0.isForAll } }

    /// Forgets what was written in breakout groups, and to these alone.
    mutating func forgetGroups() {
        messages.removeAll { $0.group != 0 && !$0.isForAll }
        bytes = messages.reduce(0) { $0 + Self.size(of: $1) }
    }

    mutating func clear() {
        messages = []
        bytes = 0
    }

    private static func size(of message: ChatMessage) -> Int {
        message.text.utf8.count + message.fromName.utf8.count + 128
    }
}
