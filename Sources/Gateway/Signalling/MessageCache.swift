import Basics


/// The JSON of messages that many get, so that a room of fifty costs one encoding and not fifty.
///
/// The conference tells each member by itself, one right after the other: the last few messages are enough.
final class MessageCache: Sendable {
    private static let size = 8

    private let recent = Guarded<[(message: ServerMessage, text: String)]>([])

    func text(of message: ServerMessage) -> String {
        guard message.isForMany else { return message.text }
        if let known = recent.withLock({ $0.first { $0.message == message }?.text }) { return known }
        let text = message.text
        recent.withLock { recent in
            recent.insert((message, text), at: 0)
            if recent.count > MessageCache.size { recent.removeLast() }
        }
        return text
    }
}
