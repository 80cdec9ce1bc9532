import Conference
import Hummingbird
package import WebServer

// What a client that sits in a room shows beside its signalling: `Authorization: Bearer ID.SECRET`, with the id and the
// secret of `joined.you.resume`.

extension RouteRequest {
    /// - Throws: 401 without such a header.
    package func seatClaim() throws(APIError) -> ResumeClaim {
        guard let claim = bearer.flatMap(ResumeClaim.init(bearer:)) else {
            throw APIError(
                .unauthorized,
                "this needs Authorization: Bearer with the id and the secret of joined.you.resume, as ID.SECRET")
        }
        return claim
    }
}

extension ResumeClaim {
    /// Reads `ID.SECRET`, in a cluster with a ticket of three parts as the secret; nil for another text.
    package init?(bearer: String) {
        let parts = bearer.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 4, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.init(id: String(parts[0]), secret: parts.dropFirst().joined(separator: "."))
    }
}
