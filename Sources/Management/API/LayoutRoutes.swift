import Admission
import Basics
import Conference
import Hummingbird
import WebServer

/// The routes of layouts.
extension RouteTable {
    package mutating func addLayouts(_ changes: LayoutChanges) {
        let layouts = changes.layouts
        add(
            Route(
                .get, "/api/layouts", .guest,
                RouteDescription(
                    tag: "layouts", summary: "All layouts",
                    answers: [
                        .json(
                            "Their names, descriptions, and an example of five people.",
                            Schema.list(of: Schema.ref("Layout")))
                    ])
            ) { _ in .json(.array(layouts.all.map(\.json))) })
        add(
            Route(
                .put, "/api/layouts/{name}", .admin,
                RouteDescription(
                    tag: "layouts", summary: "Adds or replaces a layout, after the same checks as a file's",
                    body: ("application/json", ["type": "object", "description": "As layouts/schema.json says."]),
                    answers: [.json("Replaced.", Schema.ref("Layout")), .json(201, "Added.", Schema.ref("Layout"))],
                    failures: [400, 409, 413, 422, 503])
            ) { asked in
                let name = try asked.layoutName()
                let body = try await asked.body(upTo: LayoutDocument.maxBytes)
                let isNew = !layouts.all.contains { $0.name == name }
                try await changes.put(name, body)
                let layout = layouts.all.first { $0.name == name }
                return .json(
                    layout?.json ?? ["name": .string(name), "description": ""], status: isNew ? .created : .ok)
            })
        add(
            Route(
                .delete, "/api/layouts/{name}", .admin,
                RouteDescription(
                    tag: "layouts", summary: "Removes a layout", answers: [.empty(204, "Removed.")],
                    failures: [400, 404, 409, 503])
            ) { asked in
                try await changes.delete(try asked.layoutName(), asked)
                return Response(status: .noContent)
            })
    }
}

extension RouteRequest {
    /// - Throws: `APIError`, untyped, as the rest of these routes.
    fileprivate func layoutName() throws -> String {
        let name = parameter("name")
        guard LayoutDocument.isName(name) else {
            throw APIError.badRequest("a layout's name is \(LayoutDocument.nameRule)")
        }
        return name
    }
}
