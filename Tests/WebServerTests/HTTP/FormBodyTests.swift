import Testing

@testable import WebServer

@Suite struct FormBodyTests {
    private func form(_ text: String) -> FormBody { FormBody(Array(text.utf8)) }

    @Test func `escapes, plus signs and UTF-8 are decoded`() {
        let fields = form("userName=alice&password=a%2Bb+c%26%3D&city=M%C3%BCnchen&flag&=x")
        #expect(fields["userName"] == "alice" && fields["password"] == "a+b c&=" && fields["city"] == "München")
        #expect(fields["flag"] == "" && fields[""] == "x" && fields["none"] == nil)
    }

    @Test func `the first of two fields counts, and empty ones are none`() {
        let fields = form("&&a=1&a=2&")
        #expect(fields["a"] == "1" && fields.count == 2)
    }

    @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%%", "a=%f0%9f"])
    func `any bytes are a form`(text: String) {
        #expect(form(text)["a"] != nil)
    }

    @Test func `only so many fields are read`() {
        let fields = form((0..<1000).map { "f\($0)=1" }.joined(separator: "&"))
        #expect(fields.count == FormBody.maxFields && fields["f63"] == "1" && fields["f64"] == nil)
    }

    @Test func `a query stands behind the first question mark`() {
        #expect(FormBody(queryOf: "/socket.io/?EIO=3&x=a?b")["x"] == "a?b")
        #expect(FormBody(queryOf: "/socket.io/").count == 0)
    }
}
