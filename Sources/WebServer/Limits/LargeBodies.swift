package import Basics

/// Limits how many large bodies and messages (pictures, mostly) are in memory at once, in total and for each address.
/// Those of participants and administrators have places apart from strangers'.
///
/// A body takes its place when more than `freeBytes` of it have come, so that who announces much and sends nothing holds
/// none, and has to keep a rate (`ConnectionGuard`). The memory for bodies in transit is at most the places times the
/// largest body, and `freeBytes` for each connection.
package final class LargeBodies: Sendable {

    package init() {}
    /// The bytes of a body or message that needs no place.
    package static let freeBytes = 262_144
    /// Strangers' places, and those of who is inside.
    package static let strangers = 8
    package static let insiders = 12
    package static let perAddress = 4

    /// Gives the place back when it ends.
    package typealias Permit = SharedLimit.Permit

    private let ofStrangers = SharedLimit("large_bodies", total: strangers, perAddress: perAddress)
    private let ofInsiders = SharedLimit("large_bodies_inside", total: insiders, perAddress: perAddress)

    /// Takes a place, which may end the body of an address that has more; nil where there is none.
    package func take(_ address: IPAddress?, as standing: ShareStanding = .stranger) -> Permit? {
        switch standing {
        case .stranger: ofStrangers.take(address)
        case .inside, .administrator: ofInsiders.take(address, as: standing)
        }
    }

    package var samples: [MetricSample] { ofStrangers.samples + ofInsiders.samples }
}
