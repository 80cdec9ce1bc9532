import Basics
import Conference

/// A limited number of places, in all and for each address, each free again when the last reference to its `Place` ends.
final class AddressPlaces: Sendable {
    final class Place: Sendable {
        private let places: AddressPlaces
        private let address: IPAddress?

        fileprivate init(_ places: AddressPlaces, _ address: IPAddress?) {
            self.places = places
            self.address = address
        }

        deinit { places.tally.withLock { $0.remove(address) } }
    }

    private let name: String
    private let tally: Guarded<AddressTally>

    /// - Parameter name: of the limit in the metrics.
    init(_ name: String, limit: Int, perAddress: Int) {
        self.name = name
        tally = Guarded(AddressTally(limit: limit, perAddress: perAddress))
    }

    /// Takes a place; nil if the address, or all addresses together, have none left.
    func take(_ address: IPAddress?) -> Place? {
        tally.withLock { $0.add(address) } == nil ? Place(self, address) : nil
    }

    var samples: [MetricSample] { tally.withLock { $0 }.samples(name) }
}
