package import Basics
package import NIOCore
package import WebServer

/// A client that speaks in bytes over a TCP connection of its own, at the server that accepted it.
package struct ByteClient: Sendable {
    package typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// What a client says before it can be served: which room it wants.
    package struct Introduction: Sendable {
        package var room: String
        package var token: String?

        package init(room: String, token: String?) {
            self.room = room
            self.token = token
        }
    }

    package let channel: Channel
    package let address: IPAddress?
    /// Fails where the connection ends before.
    package let introduction: EventLoopFuture<Introduction>
    /// Lets through what the client has sent so far.
    package let release: @Sendable () -> Void
    /// The client has taken a seat.
    package let entered: @Sendable () -> Void

    package init(
        channel: Channel, address: IPAddress?, introduction: EventLoopFuture<Introduction>,
        release: @escaping @Sendable () -> Void, entered: @escaping @Sendable () -> Void
    ) {
        self.channel = channel
        self.address = address
        self.introduction = introduction
        self.release = release
        self.entered = entered
    }
}

/// The endpoint of clients that speak in bytes.
package protocol ByteEndpoint: Sendable {
    /// Serves one client until its connection ends.
    ///
    /// - Parameters:
    ///   - segment: the maximum segment of the client's path, where the channel's is another one.
    ///   - entered: called when the client takes a seat.
    func serve(
        _ channel: ByteClient.Channel, from address: IPAddress?, segment: Int?,
        entered: @escaping @Sendable () -> Void) async
    /// The maximum segment of a channel's path in bytes; nil if the system does not tell.
    func maximumSegment(of channel: any Channel) async -> Int?
    /// The bytes that tell a client why no server takes it.
    func lastBytes(for refusal: Refusal) -> ByteBuffer?
}
