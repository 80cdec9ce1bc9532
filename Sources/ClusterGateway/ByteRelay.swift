package import Admission
import Basics
import Cluster
import Conference
import NIOCore
import NIOHTTP1
import Threads
import WebServer

/// One client that speaks in bytes, at the node that accepted it: its bytes go to this node's endpoint, or to that of
/// its room's owner.
package struct ByteRelay: Sendable {
    package let endpoint: any ByteEndpoint
    package let front: ClusterFront

    package init(endpoint: any ByteEndpoint, front: ClusterFront) {
        self.endpoint = endpoint
        self.front = front
    }

    /// The bytes of a message to the owner: a read's.
    private static let maxMessageBytes = 1 << 17

    package func serve(_ client: ByteClient) async {
        guard let introduction = try? await client.introduction.get() else {
            return client.channel.channel.close(promise: nil)
        }
        let room = introduction.room
        let segment = await endpoint.maximumSegment(of: client.channel.channel)
        do throws(Refusal) {
            guard Names.isRoom(room) else { throw Refusal(.badMessage, "room: \(Names.roomRule)") }
            let mayEnter = (try? front.door.withLock { $0 }.check(room, token: introduction.token, secret: nil)) != nil
            // The endpoint refuses it in its own words.
            var reached = ClusterFront.Reached<Pipe>.here
            if mayEnter {
                reached = try await front.reach(room, .creates, for: client.address) { owner in
                    await open(owner, room, segment, client)
                }
            }
            switch reached {
            case .here, .nobody:
                client.release()
                await endpoint.serve(client.channel, from: client.address, segment: nil, entered: client.entered)
            case .there(let pipe): await pump(client, pipe)
            }
        } catch {
            client.release()
            try? await client.channel.executeThenClose { _, outbound in
                if let last = endpoint.lastBytes(for: error) { try await outbound.write(last) }
            }
        }
    }

    /// What the owner sends, on its way to the client.
    private struct Pipe: Sendable {
        var socket: SocketPipe
        var outbound: OutboundHolder
    }

    /// The client's writer, once the client's connection is being served.
    private final class OutboundHolder: Sendable {
        private let writers: AsyncStream<NIOAsyncChannelOutboundWriter<ByteBuffer>>
        private let found: AsyncStream<NIOAsyncChannelOutboundWriter<ByteBuffer>>.Continuation
        private let writer = Guarded<NIOAsyncChannelOutboundWriter<ByteBuffer>?>(nil)

        init() { (writers, found) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

        func set(_ writer: NIOAsyncChannelOutboundWriter<ByteBuffer>) {
            found.yield(writer)
            found.finish()
        }

        /// Waits for the writer. Called by one task only.
        func get() async -> NIOAsyncChannelOutboundWriter<ByteBuffer>? {
            if let known = writer.withLock({ $0 }) { return known }
            let first = await writers.first { _ in true }
            writer.withLock { $0 = first }
            return first
        }

        func end() { found.finish() }
    }

    private func open(
        _ owner: RoomOwner, _ room: String, _ segment: Int?, _ client: ByteClient
    ) async -> ClusterFront.Attempt<Pipe> {
        var headers = HTTPHeaders([("Host", "node")])
        let own = NodeHeaders(
            client: client.address, address: PublicAddress(isSecure: false, authority: "localhost"), owner: owner,
            room: room)
        for field in own.fields(front.tokens.make(for: owner.node.id)) {
            headers.add(name: field.name, value: field.value)
        }
        if let segment { headers.add(name: NodeHeaders.segment, value: String(segment)) }
        let pipe = SocketPipe(
            to: owner.node, uri: NodeBytes.path, headers: headers, maxFrameBytes: Self.maxMessageBytes,
            front: front, kind: .rawTCP)
        let holder = OutboundHolder()
        let channel = client.channel.channel
        let entered = client.entered
        return await pipe.open { event in
            switch event {
            case .binary(let bytes): try? await holder.get()?.write(bytes)
            case .inside: entered()
            case .closed: channel.close(promise: nil)
            case .text, .waits: break
            }
        }.map { Pipe(socket: pipe, outbound: holder) }
    }

    private func pump(_ client: ByteClient, _ pipe: Pipe) async {
        try? await client.channel.executeThenClose { inbound, outbound in
            pipe.outbound.set(outbound)
            client.release()
            for try await bytes in inbound { await pipe.socket.send(bytes) }
        }
        pipe.outbound.end()
        pipe.socket.leave(nil)
    }
}
