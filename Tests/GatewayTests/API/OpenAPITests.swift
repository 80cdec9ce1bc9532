import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// What the description of the API says of answers that programs have met otherwise.
@Suite struct OpenAPITests {
    private func document() async throws -> JSONValue { try await Host().ask(.get, "/api/openapi.json").json }

    private func answers(_ document: JSONValue, _ method: String, _ path: String) -> JSONValue? {
        document["paths"]?[path]?[method]?["responses"]
    }

    @Test func `every route of a room says that a name may be none`() async throws {
        let document = try await document()
        guard case .object(let paths)? = document["paths"] else { Issue.record("no paths"); return }
        let host = await Host()
        #expect(try await host.ask(.delete, "/api/rooms/a%2Fb").status == 400)
        var count = 0
        for (path, item) in paths where path.hasPrefix("/api/rooms/{room}") {
            guard case .object(let methods) = item else { continue }
            for method in methods.keys {
                count += 1
                #expect(answers(document, method, path)?["400"] != nil, "\(method) \(path)")
            }
        }
        #expect(count > 20)
    }

    @Test(arguments: ["/mobileLogin", "/register"])
    func `a failure of FLSocketIM's is as it is described`(path: String) async throws {
        let document = try await document()
        let schema = answers(document, "post", path)?["200"]?["content"]?["application/json"]?["schema"]
        #expect(schema?["properties"]?["code"]?["enum"] == [1, -1])
        #expect(schema?["properties"]?["code"]?["type"] == "integer")
        let answer = try await Host().ask(.post, path, body: "userName=&password=")
        #expect(answer.status == 200 && answer.json["code"] == -1 && answer.json["data"] == "")
        guard case .array(let forms)? = schema?["properties"]?["data"]?["anyOf"] else {
            Issue.record("one form of data: \(schema as Any)")
            return
        }
        #expect(forms.contains(["const": ""]) && forms.count == 2)
    }

    @Test func `Collider's 500 and a stream without media are described`() async throws {
        let document = try await document()
        #expect(answers(document, "post", "/collider/{room}/{client}")?["500"] != nil)
        #expect(answers(document, "get", "/hls/{room}/index.m3u8")?["503"] != nil)
        guard
            case .array(let codes)? = document["components"]?["schemas"]?["Error"]?["properties"]?["error"]?[
                "properties"]?["code"]?["enum"]
        else { Issue.record("no codes"); return }
        #expect(codes.contains("no_media"))
    }
}
