import HTTPTypes
import Testing

@testable import WebServer

@Suite struct MultipartBodyTests {
    private let type = "multipart/form-data; boundary=XyZ"

    private func body(_ text: String, _ type: String? = nil) throws(APIError) -> MultipartBody {
        try MultipartBody(Array(text.utf8), contentType: type ?? self.type)
    }

    private func status(_ text: String, _ type: String? = nil) -> Int? {
        do {
            _ = try body(text, type)
            return nil
        } catch {
            return error.status.code
        }
    }

    @Test func `fields and files are found by name`() throws {
        let form = try body(
            "preamble\r\n--XyZ\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nhello\r\n"
                + "--XyZ\r\ncontent-disposition: form-data; filename=\"a b.jpg\"; name=\"image\"\r\nContent-Type: image/jpeg\r\n\r\n"
                + "\u{1}\r\n--Xy\r\n-\r\n--XyZ--\r\nepilogue")
        #expect(form.content("title") == Array("hello".utf8))
        #expect(form.content("image") == Array("\u{1}\r\n--Xy\r\n-".utf8))
        #expect(form.parts.map(\.fileName) == [nil, "a b.jpg"] && form.content("none") == nil)
    }

    @Test func `a quoted boundary and an empty part`() throws {
        let form = try body(
            "--a b\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n--a b--",
            "multipart/form-data; charset=utf-8; boundary=\"a b\"")
        #expect(form.content("x") == [])
    }

    @Test(arguments: [
        "", "--XyZ", "--XyZ\r\n", "--XyZ--x", "nothing", "--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\nopen",
        "--XyZjunk\r\n\r\n\r\n--XyZ--", "--XyZ\r\n\r\n--XyZ\r\n",
    ])
    func `a broken body is refused or empty`(text: String) {
        #expect(status(text) == 400 || (try? body(text).parts.isEmpty) == true)
    }

    @Test func `another type, a missing and a long boundary`() {
        #expect(status("", "application/json") == 415)
        #expect(status("", "multipart/form-data") == 400)
        #expect(status("", "multipart/form-data; boundary=" + String(repeating: "x", count: 71)) == 400)
        #expect(status("-----\r\n\r\n\r\n-------", "multipart/form-data; boundary=---") == 400)
        #expect(status("-----x--", "multipart/form-data; boundary=---x") == nil)
    }

    @Test func `parts and their headers are limited`() {
        let part = "--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n"
        #expect(status(String(repeating: part, count: MultipartBody.maxParts) + "--XyZ--") == nil)
        #expect(status(String(repeating: part, count: MultipartBody.maxParts + 1) + "--XyZ--") == 400)
        #expect(status("--XyZ\r\nX: " + String(repeating: "y", count: 5000) + "\r\n\r\n1\r\n--XyZ--") == 400)
    }

    @Test func `an upload is the field of a form, or the body itself`() async throws {
        let form = Array("--XyZ\r\nContent-Disposition: form-data; name=image\r\n\r\nGIF\r\n--XyZ--".utf8)
        #expect(try await UploadedFile.read(form, contentType: type, field: "image") == Array("GIF".utf8))
        #expect(try await UploadedFile.read(form, contentType: type, field: "other") == nil)
        #expect(try await UploadedFile.read([1, 2], contentType: "image/gif; q=1", field: "image") == [1, 2])
        await #expect(throws: APIError.self) {
            try await UploadedFile.read([1], contentType: "text/plain", field: "image")
        }
    }
}
