/// Why a packet was neither encrypted nor decrypted. Expected of a network: counted, not logged one by one.
package enum SRTPError: Error, Hashable, Sendable {
    /// The packet was there before, or is older than the window tells.
    case replayed
    /// The tag is wrong: forged, damaged, or of a rollover that was missed.
    case unauthenticated
    /// Too short, or not a packet at all.
    case malformed
    /// The buffer has no room for the tag (`SRTPContext.maximumOverhead`).
    case noRoom
    /// This key has encrypted all that it may (2⁴⁸ packets; RFC 3711 §9.2).
    case keyExhausted
    /// libsrtp refused for another reason: its status (`srtp_err_status_t` in srtp.h).
    case library(UInt32)
}

/// How many packets went through one context, and why others did not.
public struct SRTPStatistics: Hashable, Sendable {
    /// Packets that were encrypted.
    public var protected = 0
    /// Packets that were decrypted.
    public var unprotected = 0
    /// Packets that were there before, or are too old to tell.
    public var replayed = 0
    /// Packets with a wrong tag.
    public var unauthenticated = 0
    /// Packets that are too short, or none.
    public var malformed = 0
    /// Everything else that failed.
    public var otherFailures = 0

    /// Nothing counted yet.
    public init() {}

    mutating func count(_ error: SRTPError) {
        switch error {
        case .replayed: replayed += 1
        case .unauthenticated: unauthenticated += 1
        case .malformed: malformed += 1
        case .noRoom, .keyExhausted, .library: otherFailures += 1
        }
    }
}
