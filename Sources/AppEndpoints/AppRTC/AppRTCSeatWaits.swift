import Basics
import Threads
import WebServer

/// The requests for TURN credentials that wait until a client of their address has a seat.
///
/// The web and iOS apps ask for the servers while they join, or before, by a URL without a key; and before they offer,
/// they wait for the answer. Whoever has no seat gets no credentials: a stranger would have a relay for nothing.
final class AppRTCSeatWaits: Sendable {
    /// The web page asks when it is opened, and somebody may look at it before the click on *Join*. Proxies end a
    /// request without an answer after 60 s.
    static let limit = Duration.seconds(50)

    private struct State {
        var waits: [Int: (address: IPAddress?, done: CheckedContinuation<String?, Never>)] = [:]
        var next = 0
        var isOver = false
    }

    private let state = Guarded(State())
    private let places = SharedLimit("apprtc_credential_waits", total: 256, perAddress: 16)
    private let sleep: @Sendable (Duration) async -> Void

    /// - Parameter sleep: an argument for tests.
    init(sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }) {
        self.sleep = sleep
    }

    var count: Int { state.withLock { $0.waits.count } }

    /// The id of a seat at this address; nil if none comes in time, or too many requests wait.
    ///
    /// - Parameter present: the seat that is there already.
    func seat(at address: IPAddress?, _ present: () -> String?) async -> String? {
        guard let place = places.take(address) else { return present() }
        defer { withExtendedLifetime(place) {} }
        return await withCheckedContinuation { done in
            let id: Int? = state.withLock { state in
                guard !state.isOver else { return nil }
                state.next += 1
                state.waits[state.next] = (address?.clientPrefix, done)
                return state.next
            }
            guard let id else { return done.resume(returning: present()) }
            place.onLoss { [weak self] in self?.end(id, nil) }
            // Looked up behind the entry, so that a seat that comes meanwhile is not missed.
            if let seat = present() { return end(id, seat) }
            Task { [sleep, weak self] in
                await sleep(Self.limit)
                self?.end(id, nil)
            }
        }
    }

    /// A client has its seat.
    func seated(_ seat: String, at address: IPAddress?) {
        let prefix = address?.clientPrefix
        for id in state.withLock({ $0.waits.filter { $0.value.address == prefix }.keys.sorted() }) { end(id, seat) }
    }

    /// The server ends: nobody waits any more.
    func drain() {
        for id in state.withLock({ state in
            state.isOver = true
            return Array(state.waits.keys)
        }) { end(id, nil) }
    }

    private func end(_ id: Int, _ seat: String?) {
        state.withLock { $0.waits.removeValue(forKey: id) }?.done.resume(returning: seat)
    }

    var samples: [MetricSample] { places.samples }
}
