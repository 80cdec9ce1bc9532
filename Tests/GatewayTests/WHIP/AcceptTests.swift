import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct AcceptTests {
    @Test(arguments: [
        ([], true), (["application/sdp"], true), (["*/*"], true), (["application/*"], true),
        (["text/html, application/sdp;q=0.5"], true),
        (["text/html"], false), (["application/sdp;q=0"], false),
    ])
    func `Accept headers`(lines: [String], isFine: Bool) { #expect(accepts("application/sdp", lines) == isFine) }
}
