import Admission
import Basics
import Conference

/// The seats of WebRTC demo clients by room and certificate, over their connections.
///
/// The protocol has no id of a client. What stays the same when the app opens a new socket is its peer connection, and
/// so the certificate of its offers: an offer with the fingerprint of a seat in the same room is of the same client and
/// gets that seat, so that the client is not there twice.
///
/// A fingerprint is no secret, though no other participant ever sees it: whoever reads along the client's line knows
/// it. So an offer gets a seat only while no connection holds that seat, which is from the moment when the client's own
/// socket is gone. And it gets no media: the DTLS association and its keys stay, which a stranger does not have. At
/// worst somebody on the client's line ends its call, which he can anyway.
struct WebRTCDemoSeats<Seat: Sendable>: Sendable {
    struct Held: Sendable {
        var seat: Seat
        var room: String
        var fingerprints: DTLSFingerprints
        /// The connection that holds the seat; nil since that ended.
        var holder: UInt64?
    }

    enum Claim: Sendable {
        /// The seat of the client's earlier connection.
        case again(Seat)
        /// Another connection holds the client's seat still.
        case held
        case new
    }

    private var seats: [UInt64: Held] = [:]
    private var next: UInt64 = 0

    var count: Int { seats.count }

    /// Decides about a connection's first offer, and gives it the client's seat if that is free.
    mutating func claim(_ room: String, _ fingerprints: DTLSFingerprints, by connection: UInt64) -> Claim {
        guard
            let (key, held) = seats.first(where: {
                $0.value.room == room && $0.value.fingerprints.matches(fingerprints)
            })
        else { return .new }
        guard held.holder == nil else { return .held }
        seats[key]?.holder = connection
        return .again(held.seat)
    }

    /// Adds a new seat. Returns its number for `end`.
    mutating func add(
        _ seat: Seat, _ room: String, _ fingerprints: DTLSFingerprints, holder: UInt64
    ) -> UInt64 {
        next += 1
        seats[next] = Held(seat: seat, room: room, fingerprints: fingerprints, holder: holder)
        return next
    }

    /// The seat that a connection holds.
    func seat(of connection: UInt64) -> Seat? { seats.values.first { $0.holder == connection }?.seat }

    /// Notes the certificate of the holder's new offer.
    mutating func renew(_ fingerprints: DTLSFingerprints, of connection: UInt64) {
        for key in seats.keys where seats[key]?.holder == connection { seats[key]?.fingerprints = fingerprints }
    }

    /// A connection has ended: its seat lives on the client's media alone.
    mutating func release(_ connection: UInt64) {
        for key in seats.keys where seats[key]?.holder == connection { seats[key]?.holder = nil }
    }

    /// Removes a seat that has ended. Returns the connection that held it.
    mutating func end(_ key: UInt64) -> UInt64? { seats.removeValue(forKey: key)?.holder }
}
