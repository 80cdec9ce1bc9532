import Basics
import Foundation
import Fuzzing
import NIOCore
import NIOEmbedded
import NIOWebSocket

@testable import Admission
@testable import Cluster
@testable import ClusterGateway
@testable import Conference
@testable import Gateway
@testable import Management
@testable import Signalling
@testable import WebServer

/// What other nodes send, or whoever reaches the internal listener.
enum NodeBodies {
    static let all = [tokens, frames, alive]

    private static let secret = "the secret of the nodes, of 32 bytes"
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// The whole input as a token, a ticket and a header, and as the claims of a token that a node has signed.
    private static let tokens = FuzzTarget(
        "nodetoken", covers: "nodes' tokens, resume tickets and headers", limits: WorkLimits(perByte: .microseconds(8)),
        maximumLength: 16_384,
        words: [
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.", ".", "\"aud\":\"node:a\"", "\"aud\":\"seat\"", "\"exp\":", "1e308",
            "\"iat\":", "\"role\":\"moderator\"", "https://", "[::1]", "%C3%9F", "\u{0301}",
        ],
        seeds: {
            let signature = HS256(secret: secret)
            let seat =
                #"{"aud":"seat","room":"r","id":"a","name":"Ann","role":"moderator","native":true,"proven":false,"meeting":"m","iat":1800000000,"exp":1800003600,"jti":"x"}"#
            return [
                NodeToken(secret: secret, node: "a").make(for: "a", at: now), signature.token(Array(seat.utf8)),
                #"{"aud":"node:a","iss":"b","exp":1800000030}"#, seat, "https://meet.example:8443", "203.0.113.5",
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        let text = String(decoding: input.bytes, as: UTF8.self)
        let (mine, tickets) = (NodeToken(secret: secret, node: "a"), ClusterTickets(secret: secret))
        if let node = mine.verify(text, at: now), node != "a" { fatalError("nodetoken: a token that nobody made") }
        _ = tickets.ticket(in: text)
        _ = NodeToken.room(inTicket: text)
        let signed = HS256(secret: secret).token(input.bytes)
        work.step(bytes: signed.utf8.count)
        let node = mine.verify(signed, at: now)
        if let ticket = tickets.ticket(in: signed) {
            if node != nil { fatalError("nodetoken: a ticket that is a node's token") }
            if tickets.ticket(in: tickets.secret(of: ticket))?.id != ticket.id {
                fatalError("nodetoken: a ticket that is not what it was")
            }
        }
        if NodeToken(secret: "another secret of the nodes, 32 bytes", node: "a").verify(signed, at: now) != nil {
            fatalError("nodetoken: a token of another secret")
        }
        let gate = NodeGate(tokens: NodeToken(secret: secret, node: "b"))
        let token = mine.make(for: "b")
        if gate.source({ $0 == NodeHeaders.token ? token : text })?.isLocalAdministrator ?? false {
            fatalError("nodetoken: a node that is this machine's administrator")
        }
        _ = ClientMessage.room(
            joinedBy: .text(#"{"type":"join","room":"","name":"n","resume":{"participant":"1","secret":"\#(signed)"}}"#)
        )
        work.weigh()
    }

    /// The size of reads, then the stream of a WebSocket between nodes, as both ends read it.
    private static let frames = FuzzTarget(
        "nodeframes", covers: "WebSocket frames between nodes", limits: WorkLimits(perByte: .microseconds(4)),
        maximumLength: 65_536, seededRounds: 500,
        words: ["serving", "inside", "waits", "\u{0}\u{7}serving"],
        seeds: {
            let frames: [[UInt8]] = [
                [0x82, 3, 1, 2, 3], frame(0x89, "serving"), frame(0x89, "inside"), frame(0x81, "text"),
                [0x02, 1, 1, 0x00, 1, 2, 0x80, 1, 3], [0x82, 0x83, 1, 2, 3, 4, 5, 6, 7],
                [0x82, 126, 255, 255], frame(0x88, "\u{3}\u{68}over"),
            ]
            var stream: [UInt8] = [0]
            for frame in frames { stream += frame }
            var seeds = [stream]
            for frame in frames { seeds.append([1] + frame) }
            return seeds
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        var script = input
        let size = script.pick([7, 1000, 1 << 17])
        let stream = script.rest()
        let bytes = read(stream, size, behind: [WebSocketFaultHandler { nil }, NodeBytesMessages()]) { channel in
            guard let buffer = try? channel.readInbound(as: ByteBuffer.self) else { return nil }
            return buffer.readableBytes
        }
        if bytes > stream.count { fatalError("nodeframes: more bytes than were sent") }
        _ = read(stream, size, behind: []) { channel in
            guard let frame = try? channel.readInbound(as: WebSocketFrame.self) else { return nil }
            if case .close(_, let reason) = PipeFrame(frame), reason.utf8.count > 3 * 123 {
                fatalError("nodeframes: a long reason")
            }
            return frame.length
        }
        work.weigh()
    }

    private static func frame(_ opcode: UInt8, _ text: String) -> [UInt8] {
        [opcode, UInt8(text.utf8.count)] + Array(text.utf8)
    }

    /// Returns the sum of what `take` returns for each thing that was read.
    private static func read(
        _ stream: [UInt8], _ size: Int, behind handlers: [any ChannelHandler], _ take: (EmbeddedChannel) -> Int?
    ) -> Int {
        let limit = 1 << 17
        let reading: [any ChannelHandler] = [
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: limit)),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024, maxAccumulatedFrameSize: limit),
        ]
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        guard (try? channel.pipeline.syncOperations.addHandlers(reading + handlers)) != nil else { return 0 }
        var sum = 0
        for start in stride(from: 0, to: stream.count, by: size) {
            let part = ByteBuffer(bytes: stream[start..<min(start + size, stream.count)])
            guard (try? channel.writeInbound(part)) != nil else { break }
            while let count = take(channel) { sum += count }
            while (try? channel.readOutbound(as: WebSocketFrame.self)) != nil {}
        }
        return sum
    }

    /// An answer to `GET /cluster/alive`, and what follows from it.
    private static let alive = FuzzTarget(
        "alive", covers: "other nodes' answers to GET /cluster/alive", limits: WorkLimits(perByte: .microseconds(8)),
        maximumLength: 65_536,
        words: [
            "\"standing\":\"sure\"", "\"nodes\":{", "\"revision\":", "9223372036854775807", "1e308", "-1", "null", "[[",
        ],
        seeds: {
            [
                #"{"node":"b","incarnation":"j","standing":"sure","leaseMargin":4.5,"isFollowing":true,"revision":9,"nodes":{"b":"j"},"rooms":3}"#,
                #"{"node":"b","incarnation":"j","standing":"fenced","leaseMargin":0,"isFollowing":false,"revision":0,"nodes":{},"rooms":0}"#,
            ].map { Array($0.utf8) }
        }
    ) { input, work in
        work.step(bytes: input.bytes.count)
        guard let answer = try? JSONDecoder().decode(AliveAnswer.self, from: Data(input.bytes)) else { return }
        let later = BootInstant.zero + .seconds(20)
        var membership = Membership(id: "a", incarnation: "i", Membership.Configuration())
        _ = membership.advance(to: .zero)
        _ = membership.registered(lease: 1, ttl: .seconds(6), sent: .zero, revision: 5, at: .zero)
        _ = membership.advance(to: later)
        let actions = membership.answers([answer], asked: 1, at: later)
        if actions == [.loseAll], answer.standing != .sure || answer.nodes["a"] == "i" {
            fatalError("alive: rooms end for no reason")
        }
        let record = NodeRecord(id: "b", incarnation: "j", url: "http://b")
        let outlook = ClusterReport(here: "a", nodes: [.init(node: .init(record: record), answer: answer)])
        _ = outlook.json.bytes
        work.weigh()
    }
}
