import Basics

/// What a node tells another one about a client's connection, beside the client's messages.
package enum SocketNotice: String, Sendable, Equatable, CaseIterable {
    /// The node has the room, and serves the connection.
    case serving
    /// The client is in a room.
    case inside
    /// The client waits to be let in.
    case waits
}

/// The messages from one connection's reader to an endpoint, one at a time: the reader waits until each is taken.
final class SocketMailbox: Sendable {
    private struct Item: Sendable {
        var message: WebSocketConnection.Message
        var taken: CheckedContinuation<Void, Never>
    }

    private let items: AsyncStream<Item>
    private let sender: AsyncStream<Item>.Continuation
    private let closed = Guarded(false)

    init() { (items, sender) = AsyncStream.makeStream() }

    var isClosed: Bool { closed.withLock { $0 } }

    /// Returns when the endpoint has taken the message, or at once where it takes no more.
    func deliver(_ message: WebSocketConnection.Message) async {
        await withCheckedContinuation { taken in
            if case .enqueued = sender.yield(Item(message: message, taken: taken)) { return }
            taken.resume()
        }
    }

    /// Ends `run` behind the messages that are delivered already.
    func close() {
        closed.withLock { $0 = true }
        sender.finish()
    }

    /// Takes messages until `close`. The task that runs it is not cancelled: a message would be lost with its sender.
    func run(_ receive: @Sendable (WebSocketConnection.Message) async -> Void) async {
        for await item in items {
            await receive(item.message)
            item.taken.resume()
        }
    }
}
