import Basics

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
    typealias Place = AddressPlaces.Place

    private let places = AddressPlaces("large_bodies", limit: limit, perAddress: perAddress)

    /// Takes a place; nil if the address, or all addresses together, have none left.
    func take(_ address: IPAddress?) -> Place? { places.take(address) }

    var samples: [MetricSample] { places.samples }
}
