import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct GuestLinkRouteTests {
    @Test func `a link is revoked once, and is not there any more then`() async throws {
        let host = await Host()
        #expect(try await host.ask(.delete, "/api/rooms/r/links/here").status == 204)
        #expect(host.service.asked == ["revoke here in r for an administrator"])
        let answer = try await host.ask(.delete, "/api/rooms/r/links/gone")
        #expect(answer.status == 404 && answer.code == "not_found")
    }
}
