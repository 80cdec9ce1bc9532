import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Management
@testable import Settings
@testable import WebServer

@Suite struct FramePolicyTests {
    private func page(_ origins: [String]) async throws -> Answer {
        let host = await Host { $0.http.frameAncestors = origins }
        return try await host.ask(.get, "/r/kitchen", from: "203.0.113.9")
    }

    @Test func `by default no site may show the page in a frame`() async throws {
        let answer = try await page([])
        #expect(answer.headers[.contentSecurityPolicy]?.hasSuffix("; frame-ancestors 'none'") == true)
        #expect(answer.headers[.xFrameOptions] == "DENY")
    }

    @Test func `the listed sites may, and the older header does not contradict`() async throws {
        let answer = try await page(["https://Portal.example", "http://[::1]:8081"])
        #expect(
            answer.headers[.contentSecurityPolicy]?
                .hasSuffix("; frame-ancestors 'self' https://portal.example http://[::1]:8081") == true)
        #expect(answer.headers[.xFrameOptions] == nil)
        #expect(try await page(["*"]).headers[.contentSecurityPolicy]?.hasSuffix("; frame-ancestors *") == true)
    }

    @Test func `a browser that has the page gets a changed policy with the 304`() async throws {
        let tag = try #require(try await page([]).headers[.eTag])
        let host = await Host { $0.http.frameAncestors = ["https://portal.example"] }
        let answer = try await host.ask(.get, "/", [.ifNoneMatch: tag])
        #expect(answer.status == 304)
        #expect(answer.headers[.contentSecurityPolicy]?.contains("https://portal.example") == true)
    }

    @Test(arguments: [
        "https://portal.example/path", "https://a b", "https://a;sandbox", "https://a,b", "'self'", "portal.example",
        "",
    ])
    func `what is no origin is refused at the start`(text: String) {
        #expect(throws: ConfigurationFaults.self) {
            try ConfigurationLoader.load(
                file: .init(name: "t.yaml", text: "http: {frameAncestors: [\"\(text)\"]}"), environment: [:], flags: [])
        }
    }

    @Test func `a script of the page talks to this server only`() async throws {
        let policy = try #require(try await page([]).headers[.contentSecurityPolicy])
        #expect(policy.contains("; connect-src 'self';") && !policy.contains("ws"))
    }
}
