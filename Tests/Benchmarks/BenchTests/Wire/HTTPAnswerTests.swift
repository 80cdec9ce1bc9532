import Testing

@testable import Bench

@Suite("Answers of an HTTP server")
struct HTTPAnswerTests {
    @Test("a chunked response is reassembled, and malformed data is refused")
    func chunks() throws {
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"1\"\r\n\r\n4\r\nTess\r\n3;x=y\r\nera\r\n0\r\n\r\n"
        let answer = try #require(HTTPAnswer(Array(chunked.utf8)))
        #expect(answer.status == 200)
        #expect(answer.headers["etag"] == "\"1\"")
        #expect(answer.text == "Tessera")
        #expect(HTTPAnswer(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))?.body == [])
        #expect(HTTPAnswer(Array("nonsense".utf8)) == nil)
    }
}
