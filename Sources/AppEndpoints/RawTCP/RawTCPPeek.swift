import Basics
import NIOCore

/// Holds the first bytes of a raw TCP client until its login names the room, and then lets them through.
///
/// It holds at most the largest login and one read; the guard of the connection limits what comes before a room.
final class RawTCPPeek: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The client has this long to log in.
    private static let limit = TimeAmount(RawTCPSession.loginLimit)

    private let login: EventLoopPromise<RawTCPMessage.Login>
    private var frames = RawTCPFrameReader(maxJSON: RawTCPConnection.outsideJSON)
    private var held: [ByteBuffer] = []
    private var timeout: Scheduled<Void>?
    private var hasLogin = false
    private var isOpen = false
    private var wantsRead = false
    private var context: ChannelHandlerContext?

    init(_ login: EventLoopPromise<RawTCPMessage.Login>) { self.login = login }

    struct NoLogin: Error {}

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.limit) {
            if !self.hasLogin { context.close(promise: nil) }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timeout?.cancel()
        if !hasLogin { login.fail(NoLogin()) }
        hasLogin = true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOpen { return context.fireChannelRead(data) }
        let bytes = unwrapInboundIn(data)
        held.append(bytes)
        if hasLogin { return }
        frames.append(bytes.readableBytesView)
        do {
            while let json = try frames.next() {
                guard case .login(let found) = try RawTCPMessage.parse(json) else { continue }
                hasLogin = true
                login.succeed(found)
                return
            }
        } catch {
            // The endpoint here counts the fault and ends the connection.
            hasLogin = true
            login.succeed(RawTCPMessage.Login())
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isOpen { context.fireChannelReadComplete() }
    }

    /// Behind the login nothing is read until its node is known.
    func read(context: ChannelHandlerContext) {
        if hasLogin, !isOpen { wantsRead = true } else { context.read() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !hasLogin { login.fail(NoLogin()) }
        hasLogin = true
        context.fireChannelInactive()
    }

    /// Passes on what is held, and everything after it.
    func open() {
        guard !isOpen, let context else { return }
        isOpen = true
        for bytes in held { context.fireChannelRead(wrapInboundOut(bytes)) }
        held = []
        context.fireChannelReadComplete()
        if wantsRead { context.read() }
    }
}
