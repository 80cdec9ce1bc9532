package import Basics
import Threads

/// A total of places that addresses share fairly (`FairShare`; none loses a place to its own), each free again when the
/// last reference to its `Permit` ends. A place may be lost to a newcomer before.
package final class SharedLimit: Sendable {
    package final class Permit: Sendable {
        private let places: SharedLimit
        private let id: UInt64

        fileprivate init(_ places: SharedLimit, _ id: UInt64) {
            self.places = places
            self.id = id
        }

        deinit { places.release(id) }

        /// Whether a newcomer has the place now: the holder has to end.
        package var isLost: Bool { !places.state.withLock { $0.share.holds(id) } }

        /// Calls `end` when the place is lost; at once where it is lost already. On any thread.
        package func onLoss(_ end: @escaping @Sendable () -> Void) {
            let isHeld = places.state.withLock { state in
                guard state.share.holds(id) else { return false }
                state.ends[id] = end
                return true
            }
            if !isHeld { end() }
        }
    }

    private struct State {
        var share: FairShare<UInt64>
        var ids: UInt64 = 0
        var ends: [UInt64: @Sendable () -> Void] = [:]
    }

    private let name: String
    private let clock: @Sendable () -> Instant
    private let state: Guarded<State>

    /// - Parameter name: of the limit in the metrics.
    package init(
        _ name: String, total: Int, perAddress: Int, clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() }
    ) {
        self.name = name
        self.clock = clock
        state = Guarded(State(share: FairShare(total: total, perAddress: perAddress, replacesOwn: false)))
    }

    /// Takes a place, which may end another's; nil where the address has its share already.
    package func take(_ address: IPAddress?, as standing: ShareStanding = .stranger) -> Permit? {
        let (id, end) = state.withLock { state -> (UInt64?, (@Sendable () -> Void)?) in
            state.ids += 1
            switch state.share.claim(state.ids, from: address, as: standing, at: clock()) {
            case .taken: return (state.ids, nil)
            case .displaced(let other, _): return (state.ids, state.ends.removeValue(forKey: other))
            case .refused: return (nil, nil)
            }
        }
        end?()
        return id.map { Permit(self, $0) }
    }

    private func release(_ id: UInt64) {
        // The closure ends outside of the lock: it may hold the last reference to another place.
        let end = state.withLock { state in
            state.share.release(id, at: clock())
            return state.ends.removeValue(forKey: id)
        }
        withExtendedLifetime(end) {}
    }

    package var samples: [MetricSample] { state.withLock { $0.share }.samples(name) }
}
