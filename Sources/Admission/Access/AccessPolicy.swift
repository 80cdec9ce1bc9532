package import Basics
import Conference
import Cryptography
import FoundationEssentials
import HTTPTypes
package import WebServer

/// The sender of a request.
private enum Principal: Sendable, Equatable {
    case anonymous
    /// With a token for rooms.
    case guest(TokenClaims)
    case admin
}

/// The rules for tokens and addresses. A test compares them with the tables of `WhoCanDoWhat.md`.
package struct AccessPolicy: RequestGuard {
    package let adminToken: String
    package let verifier: TokenVerifier?
    package let links: RecordingLinks
    package let conference: ConferenceServices

    package init(
        adminToken: String, verifier: TokenVerifier?, links: RecordingLinks,
        conference: ConferenceServices
    ) {
        self.adminToken = adminToken
        self.verifier = verifier
        self.links = links
        self.conference = conference
    }

    /// - Throws: 401 or 403.
    package func check(_ access: Access, _ asked: RouteRequest) async throws(APIError) {
        let principal = principal(of: asked, access)
        if principal == .admin { return }
        switch access {
        case .everyone, .endpoint:
            return
        case .reader:
            if verifier == nil { return }
            // A guest's token opens the guest's room, but no list of rooms.
            if let room = asked.parameters["room"], case .guest(let claims) = principal, claims.covers(room: room) {
                return
            }
        case .insider:
            if hasSeat(asked) { return }
            if isPrivate(asked) {
                if isModerator(principal, of: asked) { return }
                throw APIError(
                    .unauthorized,
                    "this room is private: this needs the admin token, or Authorization: Bearer with the id and the secret of joined.you.resume, as ID.SECRET"
                )
            }
            return try await check(.reader, asked)
        case .guest:
            if verifier == nil { return }
            if case .guest = principal { return }
        case .recordings:
            if verifier == nil, adminToken.isEmpty { return }
            if hasKey(asked) { return }
        case .recordingKeeper:
            if hasKey(asked) { return }
        case .recordingFile:
            if verifier == nil, adminToken.isEmpty { return }
            if hasKey(asked) { return }
            if links.allow(asked.recordingLink, at: Date()) { return }
        case .seat:
            if hasSeat(asked, of: asked.parameter("id")) { return }
        case .host:
            if hasSeat(asked) { return }
        default:
            // Also for a rule that is not known here.
            break
        }
        throw refusal()
    }

    /// Whether the request comes from a room's inside, or the room is not private.
    package func isInsider(_ asked: RouteRequest) -> Bool {
        if !isPrivate(asked) { return true }
        return readsPrivate(asked)
    }

    /// Whether the request's sender may know who is in the room of its path, even where that is private; in a path
    /// without a room, in all rooms.
    package func readsPrivate(_ asked: RouteRequest) -> Bool {
        if isAdmin(asked) || hasSeat(asked) { return true }
        return isModerator(principal(of: asked, .insider), of: asked)
    }

    /// Who asks, where a total is shared.
    package func standing(of asked: RouteRequest) -> ShareStanding {
        if isAdmin(asked) { return .administrator }
        return asked.bearer != nil && hasSeat(asked) ? .inside : .stranger
    }

    package func hasProofInURL(_ asked: RouteRequest) -> Bool { links.allow(asked.recordingLink, at: .now) }

    /// Whether the request's sender may know the address of the participant in its path.
    package func readsAddress(_ asked: RouteRequest) -> Bool {
        isAdmin(asked) || hasSeat(asked, of: asked.parameter("id"))
    }

    private func isPrivate(_ asked: RouteRequest) -> Bool {
        asked.parameters["room"].flatMap { conference.rooms.settings(of: $0) }?.isPrivate ?? false
    }

    /// - Parameter id: the participant who asks; nil: anyone in the room.
    private func hasSeat(_ asked: RouteRequest, of id: String? = nil) -> Bool {
        guard let room = asked.parameters["room"], let claim = asked.bearer.flatMap(ResumeClaim.init(bearer:)),
            id ?? claim.id == claim.id
        else { return false }
        return (try? conference.seats.seat(of: claim, in: room)) != nil
    }

    private func isModerator(_ principal: Principal, of asked: RouteRequest) -> Bool {
        guard case .guest(let claims) = principal, let room = asked.parameters["room"] else { return false }
        return claims.covers(room: room) && claims.role == Role.moderator.rawValue
    }

    /// Verifies tokens only where the route's rule depends on the guest.
    private func principal(of asked: RouteRequest, _ access: Access) -> Principal {
        if isAdmin(asked) { return .admin }
        guard access == .reader || access == .insider || access == .guest, let verifier, let token = asked.bearer,
            let claims = try? verifier.verify(token)
        else { return .anonymous }
        if let link = claims.link, conference.guestLinks.isRevoked(link, of: claims.room) { return .anonymous }
        return .guest(claims)
    }

    /// Whether the request has the key of the recording in its path.
    private func hasKey(_ asked: RouteRequest) -> Bool {
        asked.parameters["id"].map { links.isKey(asked.bearer, of: $0, at: Date()) } ?? false
    }

    /// Whether the request has the admin token or, while none is configured, comes from this machine.
    package func isAdmin(_ asked: RouteRequest) -> Bool {
        if adminToken.isEmpty { return asked.source.isLocalAdministrator }
        return hasAdminToken(asked)
    }

    package func hasAdminToken(_ asked: RouteRequest) -> Bool {
        guard !adminToken.isEmpty, let token = asked.bearer else { return false }
        return isEqual(token, adminToken)
    }

    private func refusal() -> APIError {
        if adminToken.isEmpty {
            return APIError(
                .forbidden,
                "while auth.adminToken is not set, this is answered on the server itself only: from loopback, as localhost or 127.0.0.1, "
                    + "and not through a proxy")
        }
        return APIError(
            .unauthorized, "this needs Authorization: Bearer with the token of auth.adminToken")
    }
}
