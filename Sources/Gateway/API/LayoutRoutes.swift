import Conference
import Hummingbird

/// Layouts at run time.
extension RouteTable {
    /// The largest layout that is read.
    private static let maxLayoutBytes = 262_144

    mutating func addLayouts(_ service: any RoomService) {
        add(
            Route(
                .get, "/api/layouts", .guest,
                RouteDescription(
                    tag: "layouts", summary: "All layouts", answers: [.json("Their names and descriptions.", Schema.list(of: Schema.ref("Layout")))])
            ) { _ in .json(await service.layouts()) })
        add(
            Route(
                .put, "/api/layouts/{name}", .admin,
                RouteDescription(
                    tag: "layouts", summary: "Adds or replaces a layout, after the checks that files get",
                    body: ("application/json", ["type": "object", "description": "As layouts/schema.json says."]),
                    answers: [.json("Replaced.", Schema.ref("Layout")), .json(201, "Added.", Schema.ref("Layout"))],
                    failures: [400, 413, 422])
            ) { asked in
                let name = try asked.layoutName()
                let isNew = try await service.putLayout(name, json: try await asked.body(upTo: RouteTable.maxLayoutBytes))
                let layout = await service.layouts().first { $0.name == name } ?? LayoutModel(name: name, description: "")
                return .json(layout, status: isNew ? .created : .ok)
            })
        add(
            Route(
                .delete, "/api/layouts/{name}", .admin,
                RouteDescription(tag: "layouts", summary: "Removes a layout", answers: [.empty(204, "Removed.")], failures: [400, 404, 409])
            ) { asked in
                try await service.deleteLayout(try asked.layoutName())
                return Response(status: .noContent)
            })
    }
}

extension RouteRequest {
    fileprivate func layoutName() throws(APIError) -> String {
        let name = parameter("name")
        guard LayoutInfo.isName(name) else { throw .badRequest("a layout's name is 1 to 64 of a-z, 0-9, - and _") }
        return name
    }
}
