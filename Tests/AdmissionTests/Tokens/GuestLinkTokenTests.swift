import Basics
import Foundation
import Testing

@testable import Admission
@testable import Conference
@testable import Settings
@testable import WebServer

@Suite("What guest links carry")
struct GuestLinkTokenTests {
    private static let secret = "the secret of the portal, of 32 bytes"

    private func link(_ role: Role) throws -> GuestLink {
        var room = Room(id: "board", settings: RoomSettings(), createdAt: Date(), at: .zero)
        var wish = GuestLinkRequest()
        wish.role = role
        return try room.makeLink(wish, at: Date())
    }

    @Test func `in mode token it is a token of the portal's form, for that room and role, until the link's end`() throws
    {
        var auth = TesseraConfiguration.Auth()
        (auth.mode, auth.secret, auth.issuer, auth.audience) = (.token, Self.secret, "portal", "tessera")
        let made = try link(.viewer)
        let token = try #require(GuestLinkTokens(auth).token(for: made, of: "board"))
        let verifier = TokenVerifier(secret: Self.secret, issuer: "portal", audience: "tessera")
        let claims = try verifier.verify(token)
        #expect(claims.link == made.id && claims.room == "board" && claims.role == "viewer")
        #expect(throws: TokenVerifier.Fault.self) { try verifier.verify(token, at: made.expires + 1) }
        let request = try JoinAuthorizer(verifier: verifier).admit(
            JoinRequest(room: "board", name: "Guest"), asksRole: false, token: token)
        #expect(request.guestPass == GuestPass(link: made.id) && request.role == .viewer)
    }

    @Test func `in mode open it is the link's own secret`() throws {
        let made = try link(.participant)
        let token = try #require(GuestLinkTokens(TesseraConfiguration.Auth()).token(for: made, of: "board"))
        let open = JoinAuthorizer(verifier: nil)
        let request = try open.admit(JoinRequest(room: "board", name: "Guest"), asksRole: false, token: token)
        #expect(request.guestPass == GuestPass(link: made.id, secret: made.secret))
        #expect(try open.admit(JoinRequest(room: "board", name: "A"), asksRole: false, token: "x.y.z").guestPass == nil)
    }
}
