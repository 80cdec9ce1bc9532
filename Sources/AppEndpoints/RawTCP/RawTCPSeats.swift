import Admission
import Basics
import Conference

/// The seats of raw TCP clients by the ids that the clients got, over their connections.
///
/// An id is its client's proof: the app sends it, and nothing else, when it logs in again. So ids are random numbers of
/// 31 bits, known to their clients alone; a guess costs a login, of which an address has a few a second
/// (`limits.joinsPerSecondPerAddress`). An id gives no media: the client must answer the offer with the certificate of
/// its first answer, or the seat stays as it is.
struct RawTCPSeats: Sendable {
    struct Held: Sendable, Equatable {
        var seat: ResumeClaim
        /// The connection that holds the seat; nil since that ended.
        var holder: UInt64?
        /// Of the client's first answer; empty before it.
        var fingerprints: DTLSFingerprints
    }

    /// What a login with an earlier id gets.
    enum Claim: Equatable {
        /// The seat; the connection that held it, if there is one, is to be closed.
        case again(ResumeClaim, old: UInt64?)
        /// A new seat, as without an id.
        case new
    }

    /// A connection that is silent for this long does not keep its seat from a new one: the app sends two heartbeats
    /// every 3 s.
    static let stale = Duration.seconds(4)

    private var seats: [Int: Held] = [:]

    var count: Int { seats.count }
    subscript(peer: Int) -> Held? { seats[peer] }

    /// An id for a seat that follows.
    static func newID() -> Int { Int.random(in: RawTCPReply.clientIDs) }

    /// Adds a seat under a new id: the wanted one, unless another client happens to have it.
    mutating func add(_ seat: ResumeClaim, as wanted: Int, holder: UInt64) -> Int {
        var peer = wanted
        while seats[peer] != nil { peer = Self.newID() }
        seats[peer] = Held(seat: seat, holder: holder, fingerprints: DTLSFingerprints(of: ""))
        return peer
    }

    /// Decides about a login with an earlier id, and gives the seat to the connection if the claim is good.
    ///
    /// - Parameter silence: how long a connection has been silent.
    mutating func claim(_ peer: Int, by connection: UInt64, silence: (UInt64) -> Duration) -> Claim {
        guard RawTCPReply.clientIDs.contains(peer) else { return .new }
        guard let held = seats[peer] else { return .new }
        if let holder = held.holder, silence(holder) < Self.stale { return .new }
        seats[peer]?.holder = connection
        return .again(held.seat, old: held.holder)
    }

    /// Whether the answer of a connection comes from the client that has the seat.
    mutating func answers(_ peer: Int, _ connection: UInt64, _ fingerprints: DTLSFingerprints) -> Bool {
        guard let held = seats[peer], held.holder == connection else { return false }
        if held.fingerprints.isEmpty {
            seats[peer]?.fingerprints = fingerprints
            return true
        }
        return held.fingerprints.matches(fingerprints)
    }

    /// Takes the seat from a connection that has ended. Returns false if another connection holds it by now.
    mutating func release(_ peer: Int, _ connection: UInt64) -> Bool {
        guard seats[peer]?.holder == connection else { return false }
        seats[peer]?.holder = nil
        return true
    }

    /// Removes a seat that has ended. Returns the connection that held it.
    mutating func end(_ peer: Int) -> UInt64? { seats.removeValue(forKey: peer)?.holder }
}
