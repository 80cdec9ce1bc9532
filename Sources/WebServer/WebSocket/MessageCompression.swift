import Basics
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// permessage-deflate (RFC 7692) of one connection. What a browser sends is compressed as it likes; of the server's
/// messages those are that the endpoint names: a message with a secret beside what others have written would tell the
/// secret by its length to who reads along and writes.
final class MessageCompression: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// What both ends have agreed to in the handshake. Neither end keeps its window from one message to the next.
    struct Agreement: Equatable, Sendable {
        /// Of the server's window.
        var windowBits = MessageDeflate.windowBits
        /// The value of `Sec-WebSocket-Extensions`.
        var header: String
    }

    static let name = "permessage-deflate"
    private static let fieldName = "Sec-WebSocket-Extensions"
    /// Shorter messages are sent as they are.
    private static let least = 512

    private let agreement: Agreement
    private let check: FrameCheck
    private let most: Int
    private let isCompressed: (ByteBuffer) -> Bool
    private let takesInflated: (Int) -> Bool

    /// - Parameters:
    ///   - check: in front of the aggregator, which forgets of the frames of a message whether it is compressed.
    ///   - most: the most bytes of a client's message.
    ///   - isCompressed: which of the server's messages are.
    ///   - takesInflated: counts the bytes by which a message became longer; false: the client may not send so many.
    init(
        _ agreement: Agreement, check: FrameCheck, most: Int, isCompressed: @escaping (ByteBuffer) -> Bool,
        takesInflated: @escaping (Int) -> Bool
    ) {
        self.agreement = agreement
        self.check = check
        self.most = most
        self.isCompressed = isCompressed
        self.takesInflated = takesInflated
    }

    /// The first offer of the client that the server can take (RFC 7692 §5.1 and §7.1); nil: there is none.
    static func agreement(_ headers: HTTPHeaders) -> Agreement? {
        let offers = headers[fieldName].flatMap { $0.split(separator: ",") }
        return offers.prefix(8).lazy.compactMap(agreement(with:)).first
    }

    private static func agreement(with offer: Substring) -> Agreement? {
        let parts = offer.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
        guard parts.first?.lowercased() == name else { return nil }
        var agreement = Agreement(header: "\(name); server_no_context_takeover; client_no_context_takeover")
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let (key, value) = (halves[0].trimmingSpaces().lowercased(), halves.dropFirst().first?.trimmingSpaces())
            guard seen.insert(key).inserted else { return nil }
            switch (key, value.map { $0.filter { $0 != "\"" } }) {
            case ("server_no_context_takeover", nil), ("client_no_context_takeover", nil),
                ("client_max_window_bits", nil):
                break
            case ("client_max_window_bits", let bits?): guard (8...15).contains(Int(bits) ?? 0) else { return nil }
            case ("server_max_window_bits", let bits?):
                // zlib has no raw window of 2^8 bytes.
                guard let bits = Int(bits), (9...15).contains(bits) else { return nil }
                agreement.windowBits = min(bits, MessageDeflate.windowBits)
                agreement.header += "; server_max_window_bits=\(bits)"
            default: return nil
            }
        }
        return agreement
    }

    static func headers(_ agreement: Agreement?) -> HTTPHeaders {
        agreement.map { [fieldName: $0.header] } ?? HTTPHeaders()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard check.isCompressed, frame.opcode == .text || frame.opcode == .binary else {
            return context.fireChannelRead(data)
        }
        let compressed = frame.unmaskedData
        do {
            let message = try MessageDeflate.inflate(compressed, most: most)
            guard takesInflated(max(0, message.readableBytes - compressed.readableBytes)) else {
                return context.fireErrorCaught(ConnectionGuard.AllowanceSpent())
            }
            context.fireChannelRead(wrapInboundOut(WebSocketFrame(fin: true, opcode: frame.opcode, data: message)))
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = unwrapOutboundIn(data)
        guard frame.opcode == .text, frame.data.readableBytes >= Self.least, isCompressed(frame.data),
            let short = MessageDeflate.compress(frame.data, windowBits: agreement.windowBits)
        else { return context.write(data, promise: promise) }
        let compressed = WebSocketFrame(fin: true, rsv1: true, opcode: .text, data: short)
        context.write(wrapOutboundOut(compressed), promise: promise)
    }
}

/// Refuses frames that NIO lets pass: those without a mask (RFC 6455 §5.1), and those with reserved bits that mean
/// nothing here (§5.2).
///
/// Its place is in front of the aggregator: a message of several frames, as browsers send every one of more than
/// 128 KiB, has neither behind it.
final class FrameCheck: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    enum Fault: Error { case unmasked, reservedBits }

    private let mayBeCompressed: Bool
    /// Whether the message that came last, or whose frames come, is compressed: its first frame says so (RFC 7692 §6).
    private(set) var isCompressed = false

    init(mayBeCompressed: Bool) { self.mayBeCompressed = mayBeCompressed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard frame.maskKey != nil else { return context.fireErrorCaught(Fault.unmasked) }
        let isFirst = frame.opcode == .text || frame.opcode == .binary
        guard !frame.rsv2, !frame.rsv3, !frame.rsv1 || mayBeCompressed && isFirst else {
            return context.fireErrorCaught(Fault.reservedBits)
        }
        if isFirst { isCompressed = frame.rsv1 }
        context.fireChannelRead(data)
    }
}
