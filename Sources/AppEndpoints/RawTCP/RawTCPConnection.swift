import Admission
import Basics
import Conference
import Glibc
import NIOCore
import Threads
import WebServer

/// One client's TCP connection: its frames in, and the frames of its session out, each in a write of its own.
final class RawTCPConnection: Sendable {
    let id: UInt64
    let address: IPAddress?
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let session: Guarded<RawTCPSession>
    /// Called when the client takes a seat, which lifts the limits of clients outside.
    private let entered: @Sendable () -> Void
    /// Wakes the writer for frames and deadlines.
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let timer = Guarded<Scheduled<Void>?>(nil)
    private let heldSeat = Guarded<(any ConferenceSeat)?>(nil)
    let joining = JoinTask()
    /// nil: that of the channel.
    private let segment: Int?

    /// The largest JSON before the login: a token of 8 KiB and names.
    static let outsideJSON = 16_384

    init(
        id: UInt64, address: IPAddress?, channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>, session: RawTCPSession,
        segment: Int? = nil, entered: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.address = address
        self.channel = channel
        self.session = Guarded(session)
        self.segment = segment
        self.entered = entered
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var seat: (any ConferenceSeat)? { heldSeat.withLock { $0 } }

    func take(_ seat: any ConferenceSeat) {
        heldSeat.withLock { $0 = seat }
        entered()
    }

    func silence(at now: Instant) -> Duration { session.withLock { $0.silence(at: now) } }
    var peer: Int { session.withLock { $0.peer } }

    /// Runs a step of the session, and lets the writer send what it has added.
    func step(_ body: (inout RawTCPSession, Instant) -> [RawTCPSession.Action]) -> [RawTCPSession.Action] {
        let actions = session.withLock { body(&$0, MonotonicClock.now()) }
        wakeUp.yield()
        return actions
    }

    /// Ends the connection at once.
    func close() { channel.channel.close(promise: nil) }

    /// The path's maximum segment size in bytes (RFC 9293 §3.7.1); nil if the system does not tell.
    func maximumSegment() async -> Int? {
        if let segment { return segment }
        return await Self.maximumSegment(of: channel.channel)
    }

    static func maximumSegment(of channel: any Channel) async -> Int? {
        let option = ChannelOptions.Types.SocketOption(
            level: .tcp, name: NIOBSDSocket.Option(rawValue: CInt(TCP_MAXSEG)))
        guard let bytes = try? await channel.getOption(option).get(), bytes > 0 else { return nil }
        return bytes
    }

    /// Reads until the connection ends and passes the session's actions to `perform`, one after the other.
    ///
    /// - Parameter maxJSON: the largest JSON of a client with a seat, in bytes.
    /// - Returns: the fault of the client that ended the connection, if there is one.
    func run(
        maxJSON: Int, _ perform: @escaping @Sendable ([RawTCPSession.Action]) async -> Void
    ) async -> RawTCPFault? {
        let fault = Guarded<RawTCPFault?>(nil)
        try? await channel.executeThenClose { inbound, outbound in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [self] in
                    try? await write(outbound, perform)
                    close()
                }
                group.addTask { [self] in
                    do {
                        try await read(inbound, maxJSON: maxJSON, perform)
                    } catch {
                        fault.withLock { $0 = error as? RawTCPFault }
                    }
                    close()
                }
                await group.next()
                wakeUp.finish()
                group.cancelAll()
            }
        }
        wakeUp.finish()
        timer.withLock { $0?.cancel() }
        return fault.withLock { $0 }
    }

    private func read(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, maxJSON: Int,
        _ perform: @Sendable ([RawTCPSession.Action]) async -> Void
    ) async throws {
        var frames = RawTCPFrameReader(maxJSON: Self.outsideJSON)
        var pace = MessageRateLimiter(at: MonotonicClock.now())
        wakeUp.yield()
        for try await bytes in inbound {
            _ = step { session, now in
                session.heardBytes(at: now)
                return []
            }
            frames.append(bytes.readableBytesView)
            while let json = try frames.next() {
                await perform(try received(json))
                frames.maxJSON = seat == nil ? Self.outsideJSON : maxJSON
                let pause = pace.pause(after: json.count, at: MonotonicClock.now())
                if pause > .zero { try await Task.sleep(for: pause) }
            }
        }
    }

    private func received(_ json: [UInt8]) throws(RawTCPFault) -> [RawTCPSession.Action] {
        let message = try RawTCPMessage.parse(json)
        return step { $0.received(message, at: $1) }
    }

    private func write(
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ perform: @Sendable ([RawTCPSession.Action]) async -> Void
    ) async throws {
        for await _ in wakeUps {
            let now = MonotonicClock.now()
            while let frame = session.withLock({ $0.nextFrame(at: now) }) {
                try await outbound.write(ByteBuffer(bytes: frame))
            }
            let (actions, deadline, isOver) = session.withLock { session in
                (session.advance(to: now), session.deadline, session.isOver)
            }
            await perform(actions)
            if isOver { return }
            if let deadline { wake(at: deadline) }
        }
    }

    private func wake(at deadline: Instant) {
        // A little later rather than a little earlier: a wake-up before the deadline would find nothing to do.
        let wait = max(deadline - MonotonicClock.now(), .zero) + .microseconds(500)
        let next = channel.channel.eventLoop.scheduleTask(in: TimeAmount(wait)) { [wakeUp] in _ = wakeUp.yield() }
        timer.withLock { timer in
            timer?.cancel()
            timer = next
        }
    }
}
