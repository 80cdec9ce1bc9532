import Basics
import Conference
import Threads

/// Limits how many large bodies and messages (pictures, mostly) are in memory at once, in total and for each address.
///
/// A body of up to `freeBytes` is taken without a place. So the memory for bodies in transit is at most `limit` times
/// the largest body, whatever the number of connections.
final class LargeBodies: Sendable {
    /// The bytes of a body or message that needs no place.
    static let freeBytes = 262_144
    static let limit = 16
    static let perAddress = 4

    /// Gives the place back when it ends.
    final class Place: Sendable {
        private let bodies: LargeBodies
        private let address: IPAddress?

        fileprivate init(_ bodies: LargeBodies, _ address: IPAddress?) {
            self.bodies = bodies
            self.address = address
        }

        deinit { bodies.tally.withLock { $0.remove(address) } }
    }

    private let tally = Guarded(AddressTally(limit: LargeBodies.limit, perAddress: LargeBodies.perAddress))

    /// Takes a place; nil if the address, or all addresses together, have none left.
    func take(_ address: IPAddress?) -> Place? {
        tally.withLock { $0.add(address) } == nil ? Place(self, address) : nil
    }

    var samples: [MetricSample] { tally.withLock { $0 }.samples("large_bodies") }
}
