import Basics
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOWebSocket
import Testing

@testable import WebServer

@Suite struct MessageCompressionTests {
    private static let mask: WebSocketMaskingKey = [1, 2, 3, 4]
    /// As long and as repetitive as a session description.
    private static let description = String(
        (0..<60).map { "a=rtcp-fb:\(96 + $0) goog-remb\r\na=rtpmap:\(96 + $0) rtx/90000\r\n" }.joined())

    private func bytes(_ values: [UInt8]) -> ByteBuffer { ByteBuffer(bytes: values) }

    /// RFC 7692 §7.2.3: by a fixed block, by a stored one, by one that says that it is the last, and by two.
    @Test(
        arguments: [
            [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00],
            [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
            [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
            [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00],
        ] as [[UInt8]])
    func `the examples of the RFC are read`(compressed: [UInt8]) throws {
        #expect(try String(buffer: MessageDeflate.inflate(bytes(compressed), most: 5)) == "Hello")
        #expect(throws: MessageDeflate.Fault.tooLarge) { try MessageDeflate.inflate(bytes(compressed), most: 4) }
    }

    @Test(arguments: 9...15) func `what is compressed with any window is read, and is shorter`(windowBits: Int) throws {
        let message = ByteBuffer(string: Self.description)
        let short = try #require(MessageDeflate.compress(message, windowBits: windowBits))
        #expect(short.readableBytes < message.readableBytes / 3)
        #expect(try MessageDeflate.inflate(short, most: message.readableBytes) == message)
    }

    @Test func `what would not be shorter is not compressed`() {
        var random = SystemRandomNumberGenerator()
        let noise = ByteBuffer(bytes: (0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) })
        #expect(MessageDeflate.compress(noise) == nil)
        #expect(MessageDeflate.compress(ByteBuffer()) == nil)
    }

    /// A thousandth of the bytes, as a bomb has them: no more is inflated than a message may have, and one step.
    @Test func `a message that inflates beyond the limit is refused`() throws {
        let short = try #require(MessageDeflate.compress(ByteBuffer(repeating: 0, count: 4 << 20)))
        #expect(short.readableBytes < 16_384)
        #expect(throws: MessageDeflate.Fault.tooLarge) { try MessageDeflate.inflate(short, most: 65_536) }
        #expect(try MessageDeflate.inflate(short, most: 4 << 20).readableBytes == 4 << 20)
    }

    @Test(arguments: 0..<64) func `damaged and cut messages are errors, or within the limit`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let whole = try #require(MessageDeflate.compress(ByteBuffer(string: Self.description)))
        for _ in 0..<50 {
            var bytes = Array(whole.readableBytesView)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            if let message = try? MessageDeflate.inflate(ByteBuffer(bytes: bytes), most: 8192) {
                #expect(message.readableBytes <= 8192)
            }
        }
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }

    // MARK: The handshake

    private func answer(_ offers: String...) -> String? {
        MessageCompression.agreement(HTTPHeaders(offers.map { ("Sec-WebSocket-Extensions", $0) }))?.header
    }

    @Test func `the first offer that can be taken is taken, without a window that stays`() {
        let plain = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        // Chromium, Firefox, and Python's websockets.
        #expect(answer("permessage-deflate; client_max_window_bits") == plain)
        #expect(answer("permessage-deflate") == plain)
        #expect(
            answer("permessage-deflate; server_max_window_bits=12; client_max_window_bits=12")
                == plain + "; server_max_window_bits=12")
        let quoted = answer("x-webkit-deflate-frame", "permessage-deflate;server_max_window_bits=\"10\"")
        #expect(quoted?.hasSuffix("=10") == true)
        #expect(answer("permessage-deflate; server_max_window_bits=8, permessage-deflate") == plain)
        for bad in [
            "", "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; client_max_window_bits=7", "permessage-deflate; what=1",
            "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; =; ",
            "permessage-deflate; client_no_context_takeover; client_no_context_takeover", "permessage-bzip2",
        ] {
            #expect(answer(bad) == nil, "\(bad)")
        }
        #expect(
            MessageCompression.agreement(["Sec-WebSocket-Extensions": "permessage-deflate; server_max_window_bits=9"])?
                .windowBits == 9)
    }

    // MARK: The connection

    private final class Ends: ChannelInboundHandler {
        typealias InboundIn = WebSocketFrame
        var errors: [any Error] = []
        func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append(error) }
    }

    private func channel(
        mayCompress: Bool = true, most: Int = 10_000, takes: @escaping (Int) -> Bool = { _ in true }
    ) throws -> (EmbeddedChannel, Ends) {
        let (channel, ends, check) = (EmbeddedChannel(), Ends(), FrameCheck(mayBeCompressed: mayCompress))
        try channel.pipeline.syncOperations.addHandlers([
            check,
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 10, maxAccumulatedFrameSize: 10_000),
        ])
        if mayCompress {
            try channel.pipeline.syncOperations.addHandler(
                MessageCompression(
                    .init(header: ""), check: check, most: most,
                    isCompressed: { $0.readableBytesView.first == UInt8(ascii: "a") }, takesInflated: takes))
        }
        try channel.pipeline.syncOperations.addHandler(ends)
        return (channel, ends)
    }

    /// A frame as a client sends it.
    private func frame(
        _ data: ByteBuffer, fin: Bool = true, compressed: Bool = false, opcode: WebSocketOpcode = .text
    ) -> WebSocketFrame {
        var masked = data
        masked.webSocketMask(Self.mask)
        return WebSocketFrame(fin: fin, rsv1: compressed, opcode: opcode, maskKey: Self.mask, data: masked)
    }

    @Test func `compressed and plain messages come through, in one frame and in several with a ping between`() throws {
        let (channel, ends) = try channel()
        let short = try #require(MessageDeflate.compress(ByteBuffer(string: Self.description)))
        let first = try #require(short.getSlice(at: 0, length: 40))
        let rest = try #require(short.getSlice(at: 40, length: short.readableBytes - 40))
        try channel.writeInbound(frame(ByteBuffer(string: "plain")))
        try channel.writeInbound(frame(short, compressed: true))
        try channel.writeInbound(frame(first, fin: false, compressed: true))
        try channel.writeInbound(frame(ByteBuffer(string: "?"), opcode: .ping))
        try channel.writeInbound(frame(rest, opcode: .continuation))
        try channel.writeInbound(frame(ByteBuffer(string: "plain"), fin: false))
        try channel.writeInbound(frame(ByteBuffer(string: " again"), opcode: .continuation))
        var messages: [String] = []
        while let frame = try channel.readInbound(as: WebSocketFrame.self) {
            messages.append(String(buffer: frame.unmaskedData))
        }
        #expect(messages == ["plain", Self.description, "?", Self.description, "plain again"])
        #expect(ends.errors.isEmpty)
        _ = try? channel.finish()
    }

    @Test func `only the messages that the endpoint names are compressed`() throws {
        let (channel, _) = try channel()
        let named = ByteBuffer(string: Self.description)
        let other = ByteBuffer(string: "secret" + Self.description)
        for message in [named, other, ByteBuffer(string: "a short one")] {
            try channel.writeOutbound(WebSocketFrame(fin: true, opcode: .text, data: message))
        }
        let frame = try #require(try channel.readOutbound(as: WebSocketFrame.self))
        #expect(frame.rsv1 && frame.data.readableBytes < named.readableBytes / 3)
        #expect(try MessageDeflate.inflate(frame.data, most: 10_000) == named)
        for message in [other, ByteBuffer(string: "a short one")] {
            let frame = try #require(try channel.readOutbound(as: WebSocketFrame.self))
            #expect(!frame.rsv1 && frame.data == message)
        }
        _ = try? channel.finish()
    }

    @Test func `reserved bits without their meaning, bombs and rubbish are faults`() throws {
        let short = try #require(MessageDeflate.compress(ByteBuffer(string: Self.description)))
        for (mayCompress, frames) in [
            (false, [frame(short, compressed: true)]), (true, [frame(short, compressed: true, opcode: .ping)]),
            (
                true,
                [frame(short, fin: false, compressed: true), frame(short, compressed: true, opcode: .continuation)]
            ),
            (true, [WebSocketFrame(fin: true, rsv2: true, opcode: .text, maskKey: Self.mask, data: short)]),
            (true, [WebSocketFrame(fin: true, opcode: .text, data: short)]),
        ] {
            let (channel, ends) = try channel(mayCompress: mayCompress)
            for frame in frames { try channel.writeInbound(frame) }
            #expect(ends.errors.count == 1 && ends.errors.first is FrameCheck.Fault)
            #expect(try channel.readInbound(as: WebSocketFrame.self) == nil)
            _ = try? channel.finish()
        }
        let (small, refused) = try channel(most: 100)
        try small.writeInbound(frame(short, compressed: true))
        #expect(refused.errors.first as? MessageDeflate.Fault == .tooLarge)
        let (other, broken) = try channel()
        try other.writeInbound(frame(ByteBuffer(string: "no deflate"), compressed: true))
        #expect(broken.errors.first as? MessageDeflate.Fault == .malformed)
        _ = try? small.finish()
        _ = try? other.finish()
    }

    @Test func `what a message has more than its frames counts too`() throws {
        var counted = 0
        let (channel, ends) = try channel { bytes in
            counted += bytes
            return counted < 5000
        }
        let short = try #require(MessageDeflate.compress(ByteBuffer(string: Self.description)))
        let more = Self.description.utf8.count - short.readableBytes
        try channel.writeInbound(frame(short, compressed: true))
        #expect(counted == more && ends.errors.isEmpty)
        while ends.errors.isEmpty { try channel.writeInbound(frame(short, compressed: true)) }
        #expect(ends.errors.first is ConnectionGuard.AllowanceSpent && counted >= 5000)
        _ = try? channel.finish()
    }
}
