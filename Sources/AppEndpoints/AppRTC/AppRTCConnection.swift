import Basics
import WebServer

/// One WebSocket of an AppRTC client, from its start on: the client that it registered, and its limits.
final class AppRTCConnection: Sendable {
    let number: UInt64
    let connection: WebSocketConnection

    private struct State {
        var client: AppRTCClient?
        var messages: TokenBucket
        var faults: TokenBucket
        var isClosed = false
    }

    /// Messages a second and at once. A client sends `register` and `bye`; one that sends everything here has an offer
    /// and some dozens of candidates.
    private static let (messageRate, messageBurst) = (20.0, 200.0)
    /// Faults that do not end the connection, a second and at once.
    private static let (faultRate, faultBurst) = (1.0, 20.0)
    /// The pause of reading that slows down a client above its rate.
    private static let pause = Duration.milliseconds(200)

    private let state: Guarded<State>

    init(number: UInt64, _ connection: WebSocketConnection, at now: Instant) {
        self.number = number
        self.connection = connection
        state = Guarded(
            State(
                messages: TokenBucket(rate: Self.messageRate, size: Self.messageBurst, at: now),
                faults: TokenBucket(rate: Self.faultRate, size: Self.faultBurst, at: now)))
    }

    /// The client that the connection has registered.
    var client: AppRTCClient? { state.withLock { $0.client } }

    /// Whether the next message is read. Messages behind the end are not, nor those above the rate.
    func takesMessage(at now: Instant) -> Bool {
        state.withLock { state in !state.isClosed && state.messages.take(at: now) }
    }

    func pause() async { try? await Task.sleep(for: Self.pause) }

    func registered(_ client: AppRTCClient) {
        state.withLock { $0.client = client }
        connection.wentInside()
    }

    /// Reports a fault. The connection ends where the fault is fatal, or where there are too many.
    func report(_ fault: AppRTCFault, isFatal: Bool, at now: Instant) {
        let ends = state.withLock { state in
            let ends = isFatal || !state.faults.take(at: now)
            if ends { state.isClosed = true }
            return ends
        }
        connection.send(AppRTCFrame.error(fault).buffer)
        if ends { connection.close(AppRTCSession.CloseCode.policyViolation.rawValue, "") }
    }

    func drain() {
        state.withLock { $0.isClosed = true }
        connection.close(AppRTCSession.CloseCode.goingAway.rawValue, "draining")
    }
}
